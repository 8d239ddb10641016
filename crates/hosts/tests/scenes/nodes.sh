# nodes.sh, to be sourced with `dir` and `here` set: plays two hosts by network, UTS and time namespaces.
#
# Whoever sources it is the first process of a process namespace: when it ends, nothing of it is left. Node N has a
# monotonic clock that is N x 1,000 s ahead, so the true offset between two nodes is known.
nodes=2

# Names of network namespaces and of hosts are this mount namespace's own.
mount -t tmpfs tmpfs /run
ip link set lo up
ip link add bridge0 type bridge
ip addr add 10.77.0.254/24 dev bridge0
ip link set bridge0 up
{ echo "127.0.0.1 localhost"; echo "10.77.0.254 head"; } >"$dir/names"
for node in $(seq "$nodes"); do
  ip netns add "node$node"
  ip link add "cable$node" type veth peer name eth0 netns "node$node"
  ip link set "cable$node" master bridge0 up
  ip -n "node$node" addr add "10.77.0.$node/24" dev eth0
  ip -n "node$node" link set eth0 up
  ip -n "node$node" link set lo up
  echo "10.77.0.$node node$node" >>"$dir/names"
done
mount --bind "$dir/names" /etc/hosts
hostname head

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$dir
# start_ranks COMMAND...: a rank on each node; each leaves its exit code in $dir/code.RANK. No other network is there than
# that of the nodes. A busy machine gets time to end its ranks before SIGKILL.
start_ranks() {
  mpirun.openmpi --bind-to none --mca odls_base_sigkill_timeout "${end_after:-30}" --mca plm_rsh_agent "$here/node.sh" \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 --mca btl tcp,self --mca pml ob1 \
    --host node1,node2 -n 2 "$here/rank.sh" "$dir" "$@" </dev/null
}
