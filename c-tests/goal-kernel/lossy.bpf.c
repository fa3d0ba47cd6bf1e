/* A bad network: of the packets of the engine `kernel` that leave an interface, 5 of 100 are lost and 5 of 100 come
 * twice. For tc: filter add dev lo egress bpf direct-action object-file lossy.o section classifier. */
#include <linux/bpf.h>
#include <linux/types.h>

static __u32 (*const random)(void) = (void *)BPF_FUNC_get_prandom_u32;
static long (*const clone_redirect)(struct __sk_buff *, __u32 interface, __u64 flags) = (void *)BPF_FUNC_clone_redirect;

__attribute__((section("classifier"), used)) int lossy(struct __sk_buff *skb)
{
    __u32 of_100;
    if (skb->protocol != __builtin_bswap16(0x88b5))
        return -1; /* as if this program were not there */
    of_100 = random() % 100;
    if (of_100 < 5)
        return 2; /* dropped */
    if (of_100 < 10)
        clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
    return -1;
}

char licence[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
