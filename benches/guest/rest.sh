#!/bin/bash
# In the guest (guest.sh --script): foreign volumes, power cuts, LUNs that are moved and lost, in one guest. The
# settings are those of the scripts.
for part in foreign cuts moves; do
  source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/$part.sh"
done
