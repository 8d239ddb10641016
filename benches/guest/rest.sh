#!/bin/bash
# In the guest (guest.sh --script): foreign volumes and power cuts in one guest. The settings are those of the scripts.
for part in foreign cuts; do
  source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/$part.sh"
done
