# Network namespaces that stand for hosts: one for each, joined by veth pairs and a bridge in a namespace of its own.
# Sourced. Needs root and `ip`.

# Makes $2 hosts, 10.216.7.1 and so on, named NAME-1 and so on. In the folder $3: `hosts`, the addresses; `ssh`, a
# command that a launcher takes for ssh. Their interfaces take packets of $4 bytes.
veth_hosts() { # NAME HOSTS FOLDER [MTU]
    ip netns add "$1-0" || return
    ip -n "$1-0" link add br0 type bridge && ip -n "$1-0" link set br0 up || return
    : >"$3/hosts"
    veth_host=1
    while [ "$veth_host" -le "$2" ]; do
        ip netns add "$1-$veth_host" &&
            ip link add eth0 netns "$1-$veth_host" mtu "${4:-1500}" type veth peer name "p$veth_host" netns "$1-0" &&
            ip -n "$1-0" link set "p$veth_host" mtu "${4:-1500}" master br0 up &&
            ip -n "$1-$veth_host" addr add "10.216.7.$veth_host/24" dev eth0 &&
            ip -n "$1-$veth_host" link set eth0 up &&
            ip -n "$1-$veth_host" link set lo up || return
        echo "10.216.7.$veth_host" >>"$3/hosts"
        veth_host=$((veth_host + 1))
    done
    # The last number of an address is that of the host. Launchers put options in front.
    cat >"$3/ssh" <<TEXT
#!/bin/sh
while :; do
    case \$1 in
    -*) shift ;;
    *) break ;;
    esac
done
space=$1-\${1##*.}
shift
# Open MPI's daemons need hosts of different names, or they share a folder.
case "\$*" in
*orted*) exec ip netns exec "\$space" unshare -u sh -c "echo \$space >/proc/sys/kernel/hostname; \$*" ;;
*) exec ip netns exec "\$space" sh -c "\$*" ;;
esac
TEXT
    chmod +x "$3/ssh"
}

# Lets each host's interface look for packets only every $3 microseconds while packets come, as the interrupt moderation
# of a network card does. The kernel's own timer does it: the interface is made to poll (generic receive offload, which
# takes the peer's packets only if that leaves segments to the software), and polls are deferred.
veth_moderate() { # NAME HOSTS MICROSECONDS
    veth_host=1
    while [ "$veth_host" -le "$2" ]; do
        # ETHTOOL_SGRO on, ETHTOOL_STSO off.
        ip netns exec "$1-$veth_host" python3 -c "$veth_set" eth0 0x2c 1 &&
            ip netns exec "$1-0" python3 -c "$veth_set" "p$veth_host" 0x1f 0 &&
            ip netns exec "$1-$veth_host" sh -c "
                echo $(($3 * 1000)) >/sys/class/net/eth0/gro_flush_timeout &&
                echo 100 >/sys/class/net/eth0/napi_defer_hard_irqs" || return
        veth_host=$((veth_host + 1))
    done
}
veth_set='
import array, fcntl, socket, struct, sys
value = array.array("B", struct.pack("II", int(sys.argv[2], 0), int(sys.argv[3])))
request = struct.pack("16sP", sys.argv[1].encode(), value.buffer_info()[0])
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)
'

veth_remove() { # NAME HOSTS
    veth_host=0
    while [ "$veth_host" -le "$2" ]; do
        ip netns del "$1-$veth_host" 2>/dev/null || true
        veth_host=$((veth_host + 1))
    done
}
