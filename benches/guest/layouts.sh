#!/bin/bash
# In the guest (guest.sh --script): a study of every layout; then nothing of it may be left.
# As root of the guest, which has seven LUNs.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
cp "$here/layouts.toml" .
timeout 850 assay run --yes --seed 7 --output layouts.assay layouts.toml >report.txt 2>progress.txt
echo "run $?"
left
