/* A slow receiver and many streams. Each other rank has STREAMS long messages for rank 0, which comes late, and takes
 * them one after the other in the first round, all at once in the second. Rank 0 reads what goes over the loopback
 * device: before it has begun, messages are offered and no part of them is sent; and no part is ever sent that rank 0
 * has not asked for, nor are more than WINDOW parts of a message under way. Packets are of 1500 bytes, so that a
 * message has more parts than that. Rank 0 says on standard error how many streams and parts there were. */
#include "../goal/gtest.h"
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STREAMS = 2, BYTES = 64000, PART = 1448, PARTS = (BYTES + PART - 1) / PART, WINDOW = 16, MOST = 8, ROUNDS = 2 };
enum { HEAD = 64, OFFER = 5, PULL = 6, PARTIAL = 7 };

static unsigned char data[MOST][STREAMS][BYTES];

/* What rank 0 has seen of a message, in the order in which they were first offered or asked for. */
static struct stream {
    uint64_t run, pulled, sent;
    uint32_t tag;
    int peer, offers, parts, most;
} seen[ROUNDS * MOST * STREAMS];
static int streams;

static struct stream *stream_of(uint64_t run, int peer, uint32_t tag)
{
    int i;
    for (i = 0; i < streams; i++)
        if (seen[i].run == run && seen[i].peer == peer && seen[i].tag == tag)
            return &seen[i];
    CHECK(streams < ROUNDS * MOST * STREAMS);
    seen[streams].run = run;
    seen[streams].peer = peer;
    seen[streams].tag = tag;
    return &seen[streams++];
}

static void short_packets(void)
{
    struct ifreq lo = {.ifr_name = "lo"};
    int any = socket(AF_INET, SOCK_DGRAM, 0);
    lo.ifr_mtu = 1500;
    CHECK(any >= 0 && ioctl(any, SIOCSIFMTU, &lo) == 0);
    close(any);
}

static int listens(void)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int bytes = 1 << 28, sock = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    at.sll_ifindex = (int)if_nametoindex("lo");
    CHECK(sock >= 0 && bind(sock, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0);
    return sock;
}

/* Looks at what has gone over the device so far. */
static void look(int sock)
{
    unsigned char p[HEAD];
    struct sockaddr_ll from;
    socklen_t length = sizeof from;
    while (recvfrom(sock, p, sizeof p, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &length) >= HEAD) {
        struct stream *s;
        uint64_t run, parts;
        uint32_t tag;
        length = sizeof from;
        memcpy(&run, p + 32, 8);
        memcpy(&tag, p + 48, 4);
        memcpy(&parts, p + 56, 8);
        /* Each packet is there twice: where it leaves and where it comes. */
        if (from.sll_pkttype != PACKET_OUTGOING || p[12] != 0x88 || p[13] != 0xb5 || p[21] < OFFER || p[21] > PARTIAL)
            continue;
        s = stream_of(run, p[21] == PULL ? p[23] : p[22], tag);
        if (p[21] == OFFER) {
            s->offers++;
        } else if (p[21] == PULL) {
            s->pulled |= parts;
        } else {
            CHECK(parts < PARTS && (s->pulled >> parts & 1));
            s->sent |= (uint64_t)1 << parts;
            s->parts++;
        }
        if (__builtin_popcountll(s->pulled & ~s->sent) > s->most)
            s->most = __builtin_popcountll(s->pulled & ~s->sent);
    }
}

/* The messages of this rank to rank 0, or all of them to rank 0. */
static GOAL_Schedule messages(int rank, int size, int chained)
{
    GOAL_Op op, before = -1;
    GOAL_Schedule s;
    GOAL_Graph g;
    int r, i;
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    for (r = rank ? rank : 1; r < (rank ? rank + 1 : size); r++) {
        for (i = 0; i < STREAMS; i++) {
            if (rank) {
                CHECK(GOAL_Send(g, data[r][i], GOAL_USERSPACE, BYTES, 0, i, &op) == GOAL_SUCCESS);
                continue;
            }
            CHECK(GOAL_Recv(g, data[r][i], GOAL_USERSPACE, BYTES, r, i, &op) == GOAL_SUCCESS);
            if (chained && before >= 0)
                CHECK(GOAL_Requires(g, op, before) == GOAL_SUCCESS);
            before = op;
        }
    }
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Agree(s) == GOAL_SUCCESS);
    return s;
}

static int is_right(int of, int stream, int round)
{
    int i;
    for (i = 0; i < BYTES; i++)
        if (data[of][stream][i] != (unsigned char)(of * 31 + stream * 7 + round + i * 13 + i / 251))
            return 0;
    return 1;
}

int main(void)
{
    const struct timespec late = {0, 100000000};
    int rank, size, round, r, i, k, parts = 0, most = 0, sock = -1;
    GOAL_Schedule all[ROUNDS];
    GOAL_Handle h;
    short_packets();
    begin("slow");
    rank = me();
    size = ranks();
    CHECK(size <= MOST);
    for (round = 0; round < ROUNDS; round++)
        all[round] = messages(rank, size, round == 0);
    if (rank == 0)
        sock = listens();
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < STREAMS; i++)
            for (k = 0; rank && k < BYTES; k++)
                data[rank][i][k] = (unsigned char)(rank * 31 + i * 7 + round + k * 13 + k / 251);
        /* Blocking collectives do not take the engine. */
        CHECK(goal_barrier() == GOAL_SUCCESS);
        if (rank == 0) {
            nanosleep(&late, NULL);
            look(sock);
            CHECK(streams == (round + 1) * STREAMS * (size - 1));
            for (i = round * STREAMS * (size - 1); i < streams; i++)
                CHECK(seen[i].offers > 0 && seen[i].parts == 0);
        }
        CHECK(GOAL_Run(all[round], &h) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
        CHECK(goal_barrier() == GOAL_SUCCESS);
        if (rank == 0)
            look(sock);
        for (r = 1; rank == 0 && r < size; r++)
            for (i = 0; i < STREAMS; i++)
                CHECK(is_right(r, i, round));
    }
    for (i = 0; i < streams; i++) {
        CHECK(seen[i].parts >= PARTS && seen[i].most <= WINDOW);
        parts += seen[i].parts;
        most = seen[i].most > most ? seen[i].most : most;
    }
    if (rank == 0)
        fprintf(stderr, "slow: %d streams, %d parts, at most %d of a message under way\n",
                streams, parts, most);
    return finish();
}
