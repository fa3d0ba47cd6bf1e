/* Rank 0 listens on the interface, and sends what it heard again to rank 1 with something wrong in the head of each
 * packet, while both run collectives, as many as the argument says. Rank 0 prints how many packets of each kind it has
 * sent; who runs the program compares that with what rank 1 has counted. */
#include "../goal/gtest.h"
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD = 64, KINDS = 17 };

static uint64_t seed = 88172645463325252u;
static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 500, rank, round, sock = -1, foreign = 0, bad = 0, dropped = 0,
        repeated = 0, n, kind;
    unsigned char heard[HEAD + 8] = {0}, packet[HEAD + 8];
    struct sockaddr_ll to = {0};
    uint64_t x;
    long give, get;
    GOAL_Handle h;
    begin("hostile");
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
    for (round = 0; round < rounds; round++) {
        give = rank + round;
        get = -1;
        CHECK(goal_iallreduce(&give, &get, 1, GOAL_LONG, GOAL_ADD, &h) == GOAL_SUCCESS);
        if (rank == 0) {
            /* A message from this rank to the other one. */
            while (round == 0) {
                n = (int)recv(sock, heard, sizeof heard, 0);
                if (n == HEAD + 8 && heard[12] == 0x88 && heard[13] == 0xb5 && heard[21] == 1 && heard[22] == 0 &&
                    heard[23] == 1)
                    break;
            }
            for (kind = 0; kind < KINDS; kind++) {
                memcpy(packet, heard, sizeof packet);
                n = sizeof packet;
                switch (kind) {
                case 0: n = 14 + (int)(draw() % 40); bad++; break;              /* too short for a head */
                case 1: packet[16] ^= 1; bad++; break;                          /* no magic number */
                case 2: packet[20] += 1 + (unsigned char)(draw() % 250); bad++; break; /* another version */
                case 3: packet[21] = 8 + (unsigned char)(draw() % 240); bad++; break; /* no type; also those of kicks */
                case 4: packet[22] = 2 + (unsigned char)(draw() % 250); bad++; break; /* a rank that is not there */
                case 5: packet[22] = 1; bad++; break;                           /* from itself */
                case 6: packet[8] = 2; bad++; break;                            /* from another address */
                case 7: packet[14] = 9; bad++; break;                           /* longer than the packet */
                case 8: packet[14] = packet[15] = 0xff; bad++; break;           /* longer than any message */
                case 9:                                                        /* of another job */
                    x = draw();
                    memcpy(packet + 24, &x, 8);
                    foreign++;
                    break;
                case 10:                                                       /* of a run that nobody can have begun */
                    x = 1000000000 + draw() % 1000000000;
                    memcpy(packet + 32, &x, 8);
                    memcpy(packet + 40, &x, 8);
                    dropped++;
                    break;
                case 11:                                                       /* a message that came long ago */
                    if (round < 40)
                        continue;
                    repeated++;
                    break;
                case 12: /* parts of a message that came long ago: asked for, sent, offered */
                case 13:
                case 14:
                    if (round < 40)
                        continue;
                    packet[21] = (unsigned char)(kind == 12 ? 6 : kind == 13 ? 7 : 5);
                    x = kind == 12 ? draw() | 1 : draw() % 70;
                    memcpy(packet + 56, &x, 8);
                    repeated++;
                    break;
                case 15: /* an offer of a run that nobody can have begun */
                    packet[21] = 5;
                    x = 1000000000 + draw() % 1000000000;
                    memcpy(packet + 32, &x, 8);
                    dropped++;
                    break;
                case 16: packet[39] = 5 + (unsigned char)(draw() % 250); bad++; break; /* of no series */
                }
                CHECK(sendto(sock, packet, (size_t)n, 0, (struct sockaddr *)&to, sizeof to) == n);
            }
        }
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
        CHECK(get == 2 * round + 1);
    }
    CHECK(goal_barrier() == GOAL_SUCCESS);
    if (rank == 0)
        fprintf(stderr, "hostile: bad %d, foreign %d, dropped %d, duplicate %d\n", bad, foreign, dropped, repeated);
    return finish();
}
