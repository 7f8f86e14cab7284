-- Settings that the migrations before have just added: nobody has changed them yet, so they are as they ship.

UPDATE tq.setting SET default_value = value WHERE default_value IS NULL;
