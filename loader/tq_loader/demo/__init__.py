"""Documents written for the demonstration, in the setting of a clinic: a policy, a handbook, a year's log."""
