#!/bin/bash
# The first process of the guest (see guest.sh): mounts what a system has, does the work, brings its files out, ends.
# The root is the host's, read-only; what is written goes to memory. A kernel variable says where the host's files are.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
modules=/usr/lib/uml
mount -t tmpfs -o size=50% memory /mnt
mkdir -p /mnt/modules/lib /mnt/upper /mnt/work /mnt/root
ln -s "$modules/modules" /mnt/modules/lib/modules
modprobe -d /mnt/modules overlay
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
cd /mnt/root || exit
for place in proc sys dev; do mount --move "/$place" "$place"; done
mount -t tmpfs run run
mkdir -p run/lock run/out dev/shm dev/pts lab lib/modules
mount -t tmpfs shm dev/shm
mount -t devpts pts dev/pts
mount -t hostfs none run/out -o "$OWN/out"
# Modules under the name at which every tool looks.
ln -sfn "$modules/modules/$(uname -r)" "lib/modules/$(uname -r)"
date -s "@$TIME" >/dev/null
chroot . /bin/bash -c '
  modprobe --all loop fuse dm-mod dm-snapshot dm-thin-pool dm-raid dm-mirror raid0 raid1 raid10 raid456
  ip link set lo up 2>/dev/null
  hostname guest
  for controller in memory cpuacct blkio; do
    mkdir -p "/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller"
  done 2>/dev/null
  stty -F /dev/tty1 -opost
  mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 /dev/ubda
  mount /dev/ubda /lab && rmdir /lab/lost+found
  cd /lab
  export ASSAY_STATE_DIR=/run/assay TERM=dumb NO_COLOR=1
  source /run/out/.work
  rm /run/out/.work
  # A copy in memory starts faster than the file of the host.
  if [ -n "${assay:-}" ]; then mkdir /run/bin; cp "$assay" /run/bin/assay; PATH=/run/bin:$PATH; fi
  "${work[@]}" >/dev/tty1 2>&1 </dev/null
  code=$?
  # The study is the caller'"'"'s own, who may have changed it meanwhile.
  if [ -n "${study:-}" ]; then rm -f "/lab/$study"; fi
  cp -a /lab/. /run/out/
  echo "$code" >/run/out/.exit
'
sync
poweroff -f
