/* The place for messages that come before their receives is full, and more come. Rank 0 sends rank 1 forged messages of
 * the next run, with tags that no receive has, until rank 1 keeps no further one; then it begins the collective. Its
 * own message has no place either. When rank 1 begins, it asks again for what was dropped: the result is exact, and
 * nothing hangs. Then an allreduce again, whose place is free. Rank 0 prints what it has sent; who runs the program
 * compares that with rank 1's counters. */
#include "../goal/gtest.h"
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD = 64, KEPT = 64, MORE = 36, ROUNDS = 40 };

int main(void)
{
    int rank, sock = -1, round, n, i;
    unsigned char heard[HEAD + 8] = {0};
    struct sockaddr_ll to = {0};
    uint64_t run;
    uint32_t tag;
    long give, get;
    GOAL_Handle h;
    begin("exhausted");
    rank = me();
    CHECK(ranks() == 2);
    if (rank == 0) {
        sock = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
        CHECK(sock >= 0);
        to.sll_family = AF_PACKET;
        to.sll_protocol = htons(ETH_P_ALL);
        to.sll_ifindex = (int)if_nametoindex("lo");
        CHECK(bind(sock, (struct sockaddr *)&to, sizeof to) == 0);
        to.sll_halen = 6;
    }
    for (round = 0; round < ROUNDS; round++) {
        int is_full = round % 2 == 1;
        give = rank + round;
        get = -1;
        /* Blocking collectives do not take the engine: nobody begins run `round` + 1 before it was forged. */
        CHECK(goal_barrier() == GOAL_SUCCESS);
        if (rank == 0 && is_full) {
            for (i = 0; i < KEPT + MORE; i++) {
                unsigned char packet[HEAD + 8];
                memcpy(packet, heard, sizeof packet);
                run = (uint64_t)round + 1;
                tag = 1000 + (uint32_t)i;
                memcpy(packet + 32, &run, 8);
                memcpy(packet + 48, &tag, 4);
                CHECK(sendto(sock, packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to) == sizeof packet);
            }
            CHECK(goal_iallreduce(&give, &get, 1, GOAL_LONG, GOAL_ADD, &h) == GOAL_SUCCESS);
        }
        CHECK(goal_barrier() == GOAL_SUCCESS);
        if (rank == 1 || !is_full)
            CHECK(goal_iallreduce(&give, &get, 1, GOAL_LONG, GOAL_ADD, &h) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
        CHECK(get == 2 * round + 1);
        while (rank == 0 && round == 0) {
            struct pollfd there = {.fd = sock, .events = POLLIN};
            CHECK(poll(&there, 1, 10000) == 1);
            n = (int)recv(sock, heard, sizeof heard, 0);
            if (n == HEAD + 8 && heard[12] == 0x88 && heard[13] == 0xb5 && heard[21] == 1 && heard[22] == 0 &&
                heard[23] == 1)
                break;
        }
    }
    CHECK(goal_barrier() == GOAL_SUCCESS);
    if (rank == 0)
        fprintf(stderr, "exhausted: early %d, dropped %d\n", ROUNDS / 2 * KEPT, ROUNDS / 2 * (MORE + 1));
    return finish();
}
