#!/bin/bash
# In the guest (guest.sh --script): foreign volumes and power cuts in one guest, and with FULL LUNs that are moved and
# lost. The other settings are those of the scripts.
for part in foreign cuts ${FULL:+moves}; do
  source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/$part.sh"
done
