/* Password search: which words of four (size A: five) lower-case letters have these MD5 and SHA-256
 * digests? Slaves hash one word in each lane of hetmp/simd.h's vectors; the master hands out ranges of words
 * ("Work"), and a slave returns the words of a range whose digest begins as a wanted one does
 * ("Found"), which the master hashes again in plain C.
 *
 *     passwords [S|A] [queues|threads|condvar] [SLAVES] */
#include "hash_simd.h"

#include "hand.h"

enum {
    WANTED = 4,       /* digests of each kind */
    PAIRS = 26 * 26,  /* words of a range's prefix: the first two letters */
    PREFIXES = 26,    /* of a range */
    DEPTH = 3,        /* ranges that a slave has or waits for */
    MOST = 2 * WANTED /* found words of a range; more than there are */
};

/* A range of words: of each word the letters after the second are a prefix's number in base 26. */
struct range {
    int32_t sha256, first, prefixes, length; /* no prefixes: the end */
    uint32_t wanted[WANTED]; /* how the wanted digests begin */
};
struct found {
    int32_t sha256, n;
    int32_t word[MOST];
};

static void spell(char *text, int word, int length) {
    text[0] = (char)('a' + word % PAIRS / 26);
    text[1] = (char)('a' + word % 26);
    for (int i = 2, rest = word / PAIRS; i < length; i++, rest /= 26) text[i] = (char)('a' + rest % 26);
}

/* The first two letters of all words, as the hash reads them: a vector's lanes from any place. */
struct pairs {
    _Alignas(64) uint32_t first[2][PAIRS + _VU32_SIZE]; /* the same alignment on every stack */
};

static void make_pairs(struct pairs *p) {
    for (uint32_t i = 0; i < PAIRS + _VU32_SIZE; i++) {
        uint32_t one = 'a' + i % PAIRS / 26, two = 'a' + i % 26;
        p->first[0][i] = one | two << 8;
        p->first[1][i] = one << 24 | two << 16;
    }
}

/* Not inlined: who moves the data is compared over the same instructions. */
__attribute__((noinline)) static void search(const struct pairs *pairs, const struct range *r, struct found *found) {
    const int sha256 = r->sha256;
    _VU32 block[16], wanted[WANTED];
    for (int i = 0; i < 16; i++) block[i] = _VU32_ZERO();
    for (int i = 0; i < WANTED; i++) wanted[i] = _VU32_SET1(r->wanted[i]);
    block[sha256 ? 15 : 14] = _VU32_SET1(8 * (uint32_t)r->length);
    found->sha256 = sha256;
    found->n = 0;
    for (int prefix = r->first; prefix < r->first + r->prefixes; prefix++) {
        /* The letters from the third on, and the bit after the last one. */
        unsigned char text[64] = {0};
        uint32_t words[16];
        spell((char *)text, prefix * PAIRS, r->length);
        text[0] = text[1] = 0;
        text[r->length] = 0x80;
        hash_words(words, text, sha256);
        const _VU32 rest = _VU32_SET1(words[0]);
        block[1] = _VU32_SET1(words[1]);
        for (int i = 0; i < PAIRS; i += _VU32_SIZE) {
            _VU32 state[8];
            block[0] = _VU32_OR(rest, _VU32_LOAD(&pairs->first[sha256][i]));
            if (sha256) {
                sha256_start_lanes(state);
                sha256_block_lanes(state, block);
            } else {
                md5_start_lanes(state);
                md5_block_lanes(state, block);
            }
            _VM32 hit = _VU32_EQ(state[0], wanted[0]);
            for (int w = 1; w < WANTED; w++) hit = _VM32_OR(hit, _VU32_EQ(state[0], wanted[w]));
            if (!_VM32_ANY(hit)) continue;
            for (int lane = 0; lane < _VU32_SIZE && i + lane < PAIRS; lane++)
                if (_VM32_GET(hit, (size_t)lane) && found->n < MOST)
                    found->word[found->n++] = prefix * PAIRS + i + lane;
        }
    }
}

/* ---- the master's books ---- */

struct hunt {
    const struct app *app;
    int length, prefixes, ranges, next; /* prefixes and ranges of one kind of digest */
    uint32_t wanted[2][WANTED][8];
    int secret[2][WANTED];
};

/* The next range, empty after the last. */
static void next_range(struct hunt *h, struct range *r) {
    const int sha256 = h->next >= h->ranges, number = h->next - (sha256 ? h->ranges : 0);
    memset(r, 0, sizeof *r);
    if (h->next == 2 * h->ranges) return;
    h->next++;
    r->sha256 = sha256;
    r->first = number * PREFIXES;
    r->prefixes = h->prefixes - r->first < PREFIXES ? h->prefixes - r->first : PREFIXES;
    r->length = h->length;
    for (int w = 0; w < WANTED; w++) r->wanted[w] = h->wanted[sha256][w][0];
}

static void note(struct hunt *h, const struct found *f) {
    for (int i = 0; i < f->n; i++) {
        char text[8];
        uint32_t digest[8];
        const size_t bytes = f->sha256 ? 32 : 16;
        spell(text, f->word[i], h->length);
        hash_message(digest, text, (size_t)h->length, f->sha256);
        for (int w = 0; w < WANTED; w++)
            if (memcmp(digest, h->wanted[f->sha256][w], bytes) == 0) h->secret[f->sha256][w] = f->word[i];
    }
}

/* ---- queues ---- */

static void queue_slave(void *unused) {
    struct pairs pairs;
    int err;
    (void)unused;
    int work = sGetQueueHandle("Work", &err), found = sGetQueueHandle("Found", &err);
    app_check(err, "queue Found");
    make_pairs(&pairs);
    for (;;) {
        struct range *r = sRecvMsg(work, NULL, &err);
        app_check(err, "sRecvMsg");
        if (r->prefixes == 0) {
            sReleaseMsg(work, r, &err);
            break;
        }
        struct found *f = sAllocateMsg(found, &err);
        app_check(err, "sAllocateMsg");
        search(&pairs, r, f);
        sReleaseMsg(work, r, &err);
        sSendMsg(found, f, sizeof *f, &err);
        app_check(err, "sSendMsg");
    }
}

static void hand_out(struct hunt *h, int s, int queue, int *given) {
    int err;
    struct range *r = mAllocateMsg(s, queue, &err);
    app_check(err, "mAllocateMsg");
    next_range(h, r);
    *given += r->prefixes != 0;
    mSendMsg(s, queue, r, sizeof *r, &err);
    app_check(err, "mSendMsg");
}

static void with_queues(struct app *app, struct hunt *h) {
    int err, work[256], found[256], given[256] = {0}, taken[256] = {0};
    for (int s = 0; s < app->slaves; s++) {
        work[s] = app_queue("Work", s, sizeof(struct range), 2, 2, MasterToSlave);
        found[s] = app_queue("Found", s, sizeof(struct found), 2, 2, SlaveToMaster);
    }
    app_start_clock(app);
    ThreadID threads = app_slaves(app, queue_slave, NULL);
    for (int i = 0; i < DEPTH; i++)
        for (int s = 0; s < app->slaves; s++) hand_out(h, s, work[s], &given[s]);
    /* What is there is taken; where nothing is, the master waits for one slave after the other, which
     * leaves the others idle only if they do DEPTH ranges meanwhile. */
    for (int done = 0, turn = 0; done < 2 * h->ranges;) {
        int idle = 1;
        for (int s = 0; s < app->slaves; s++) {
            struct found *f;
            while (taken[s] < given[s] && (f = mTryRecvMsg(s, found[s], NULL, &err)) != NULL) {
                note(h, f);
                mReleaseMsg(s, found[s], f, &err);
                hand_out(h, s, work[s], &given[s]);
                taken[s]++;
                done++;
                idle = 0;
            }
        }
        if (!idle || done == 2 * h->ranges) continue;
        do turn = (turn + 1) % app->slaves;
        while (taken[turn] == given[turn]);
        struct found *f = mRecvMsg(turn, found[turn], NULL, &err);
        app_check(err, "mRecvMsg");
        note(h, f);
        mReleaseMsg(turn, found[turn], f, &err);
        hand_out(h, turn, work[turn], &given[turn]);
        taken[turn]++;
        done++;
    }
    mWaitSlaveThreads(threads);
    mDestroySlaveThreads(threads);
}

/* ---- by hand ---- */

static void *hand_worker(void *arg) {
    struct worker *w = arg;
    struct pairs pairs;
    int bytes;
    make_pairs(&pairs);
    for (;;) {
        const struct range *r = hand_receive(w->in, &bytes);
        if (r->prefixes == 0) break;
        struct found *f = hand_buffer(w->out);
        search(&pairs, r, f);
        hand_return(w->in);
        hand_send(w->out, sizeof *f);
    }
    return NULL;
}

static void give_out(struct hunt *h, struct hand *pipe, int *given) {
    struct range *r = hand_buffer(pipe);
    next_range(h, r);
    *given += r->prefixes != 0;
    hand_send(pipe, sizeof *r);
}

static void by_hand(struct app *app, struct hunt *h) {
    int bytes, given[256] = {0}, taken[256] = {0};
    struct worker *w = workers_new(app);
    for (int s = 0; s < app->slaves; s++) {
        w[s].in = hand_new(app, sizeof(struct range), 4);
        w[s].out = hand_new(app, sizeof(struct found), 4);
    }
    app_start_clock(app);
    workers_start(app, w, hand_worker);
    for (int i = 0; i < DEPTH; i++)
        for (int s = 0; s < app->slaves; s++) give_out(h, w[s].in, &given[s]);
    for (int done = 0, turn = 0; done < 2 * h->ranges;) {
        int idle = 1;
        for (int s = 0; s < app->slaves; s++)
            while (taken[s] < given[s] && hand_has(w[s].out)) {
                note(h, hand_receive(w[s].out, &bytes));
                hand_return(w[s].out);
                give_out(h, w[s].in, &given[s]);
                taken[s]++;
                done++;
                idle = 0;
            }
        if (!idle || done == 2 * h->ranges) continue;
        do turn = (turn + 1) % app->slaves;
        while (taken[turn] == given[turn]);
        note(h, hand_receive(w[turn].out, &bytes));
        hand_return(w[turn].out);
        give_out(h, w[turn].in, &given[turn]);
        taken[turn]++;
        done++;
    }
    workers_end(app, w);
}

int main(int argc, char **argv) {
    struct app app = app_begin("passwords", argc, argv, 1u << QUEUES | 1u << THREADS | 1u << CONDVAR);
    struct hunt h = {.app = &app, .length = app.large ? 5 : 4, .prefixes = app.large ? 26 * 26 * 26 : 26 * 26};
    int right = 1;
    h.ranges = (h.prefixes + PREFIXES - 1) / PREFIXES;
    const int words = h.prefixes * PAIRS;
    for (int kind = 0; kind < 2; kind++)
        for (int w = 0; w < WANTED; w++) {
            char text[8];
            /* The first and the last word are among them. */
            int secret = kind + w == 0 ? 0 : kind + w == 4 ? words - 1 :
                (int)((w + 4u * kind) * 2654435761u % (unsigned)words);
            spell(text, secret, h.length);
            hash_message(h.wanted[kind][w], text, (size_t)h.length, kind);
            h.secret[kind][w] = -1;
        }
    if (app.way == QUEUES)
        with_queues(&app, &h);
    else
        by_hand(&app, &h);
    app_stop_clock(&app);
    app_time(&app, 2e-6 * words, "Mhash/s");
    for (int kind = 0; kind < 2; kind++)
        for (int w = 0; w < WANTED; w++) {
            char text[8] = "nothing";
            for (int i = 0; i < (kind ? 8 : 4); i++)
                printf("%08x", kind ? h.wanted[1][w][i] : __builtin_bswap32(h.wanted[0][w][i]));
            if (h.secret[kind][w] >= 0) {
                memset(text, 0, sizeof text);
                spell(text, h.secret[kind][w], h.length);
            } else {
                right = 0;
            }
            printf(" %s %s\n", kind ? "SHA-256" : "MD5", text);
        }
    printf("passwords: %d words twice, %s\n", words, right ? "all found" : "some not found");
    return !right;
}
