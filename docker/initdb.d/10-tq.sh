#!/usr/bin/env bash
# Runs once, when the image makes its data directory: schema, queues and functions into the database tq.
# After an upgrade of the image:  docker compose exec db tq migrate
set -euo pipefail
tq migrate
