/* libhetmp_mpi.so, collectives: which of them GOAL takes, and how they are begun. */
#include "hetmp_mpi.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* True if MPI refuses two buffers because they are the same. MPICH does so, Open MPI does not. */
static int is_twice(const void *from, const void *to) {
#ifdef OPEN_MPI
    (void)from, (void)to;
    return 0;
#else
    return from == to;
#endif
}

/* Block `i` of the blocks of a side. */
static const char *block(const struct side *s, int i) {
    return (const char *)s->at + (MPI_Aint)i * s->count * extent_of(s->type);
}

/* ---- neighbours ---- */
/* True if a rank is a neighbour twice, as in a periodic dimension of one or two ranks. The order of the messages to it
   is then MPI's affair. */
static int has_twice(const int *all, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (all[i] == all[k] && all[i] != MPI_PROC_NULL) return 1;
    return 0;
}

int find_neighbours(MPI_Comm comm, struct comm *c) {
    int kind, n, weighted;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        c->sources = c->destinations = 2 * n;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &c->sources, &c->destinations, &weighted);
    } else {
        return 0;
    }
    size_t in = (size_t)c->sources + 1, out = (size_t)c->destinations + 1;
    c->from = memory(sizeof(int) * in);
    c->to = memory(sizeof(int) * out);
    if (kind == MPI_CART) {
        for (int d = 0; d < n; d++) PMPI_Cart_shift(comm, d, 1, &c->from[2 * d], &c->from[2 * d + 1]);
        memcpy(c->to, c->from, sizeof(int) * in);
    } else {
        int *weights = memory(sizeof(int) * (in + out));
        PMPI_Dist_graph_neighbors(comm, c->sources, c->from, weights, c->destinations, c->to, weights + in);
        free(weights);
    }
    for (int i = 0; i < c->sources; i++) c->from_real += c->from[i] != MPI_PROC_NULL;
    for (int i = 0; i < c->destinations; i++) c->to_real += c->to[i] != MPI_PROC_NULL;
    return c->from_real + c->to_real > 0 && !has_twice(c->from, c->sources) && !has_twice(c->to, c->destinations);
}

/* ---- what GOAL takes ---- */
/* Why a reduction is left to MPI; FITS if it is not. */
static int why_not_reduction(struct call *k) {
    const void *from = k->give.at, *to = k->get.at;
    k->element = element(k->give.type);
    k->operation = k->element ? operation(k->op, k->element) : -1;
    if (!k->element) return TYPE;
    if (k->operation < 0) return OPERATION;
    if (k->kind == REDUCE_SCATTER) {
        MPI_Count all = 0;
        for (int i = 0; i < k->c->size; i++) {
            MPI_Count count = count_of(&k->get, i);
            if (count < 0) return AMOUNT;
            all += count;
        }
        if (all == 0) return AMOUNT;
    } else if (k->give.count <= 0) {
        return AMOUNT;
    }
    if (k->kind == REDUCE) {
        int here = k->c->rank == k->root, in_place = from == MPI_IN_PLACE;
        int bad = here ? is_nothing(to, k->give.type) || is_twice(from, to) || !from : !from || in_place;
        return bad ? ARGUMENTS : FITS;
    }
    /* Rank 0 of an exclusive scan gets nothing. */
    if (k->kind == EXSCAN && k->c->rank == 0 && from != MPI_IN_PLACE)
        return !from || is_twice(from, to) ? ARGUMENTS : FITS;
    return !from || is_nothing(to, k->give.type) || is_twice(from, to) ? ARGUMENTS : FITS;
}

/* Of collectives in which all blocks are of one length. The bytes of a block are equal at all ranks. */
static int why_not_blocks(struct call *k) {
    const struct side *give = &k->give, *get = &k->get;
    int me = k->c->rank, here = me == k->root, gives = 1, gets = 1;
    const void *other = get->at;
    switch (k->kind) {
    case BCAST:
        k->bytes = bytes_of(give->count, give->type);
        return !k->bytes ? AMOUNT : is_nothing(give->at, give->type) ? ARGUMENTS : FITS;
    case ALLGATHER: gives = give->at != MPI_IN_PLACE; break;
    case ALLTOALL: gives = give->at != MPI_IN_PLACE; break;
    case GATHER:
        gives = !here || give->at != MPI_IN_PLACE;
        gets = here;
        break;
    case SCATTER:
        gives = here;
        gets = !here || get->at != MPI_IN_PLACE;
        break;
    case NEIGHBOR_ALLTOALL:
        /* A rank that only sends has an amount on that side alone. */
        gives = k->c->to_real > 0;
        gets = k->c->from_real > 0;
        break;
    }
    const struct side *sure = gives ? give : get;
    k->bytes = bytes_of(sure->count, sure->type);
    if (!k->bytes) return AMOUNT;
    if (gives && is_nothing(give->at, give->type)) return ARGUMENTS;
    size_t taken_bytes = gets ? bytes_of(get->count, get->type) : k->bytes;
    if (!taken_bytes && (get->count != 0 || !is_usable(get->type))) return ARGUMENTS;
    /* An error of the program that no other rank knows of: it may not change this rank's way. */
    k->unlike = taken_bytes != k->bytes;
    if (gets && is_nothing(get->at, get->type)) return ARGUMENTS;
    if (k->kind == NEIGHBOR_ALLTOALL || !gets || !gives) return FITS;
    /* This rank's own block on both sides. */
    const void *mine = k->kind == SCATTER ? block(give, me) : give->at;
    if (k->kind == ALLGATHER || k->kind == GATHER) other = block(get, me);
    return is_twice(mine, other) && give->type == get->type ? ARGUMENTS : FITS;
}

MPI_Count count_of(const struct side *s, int i) {
    if (!s->counts) return s->count;
    return s->large_counts ? ((const MPI_Count *)s->counts)[i] : ((const int *)s->counts)[i];
}

/* A message of this rank. */
struct piece {
    int peer;
    char *at;
    MPI_Count count;
    MPI_Datatype type;
    size_t bytes;
};

static struct piece piece_of(const struct side *s, int i, int peer) {
    struct piece p = {.peer = peer, .count = count_of(s, i), .type = s->types ? s->types[i] : s->type};
    MPI_Aint at = 0;
    if (p.count <= 0) return p;
    if (!s->displs && !s->is_one)
        at = (MPI_Aint)i * p.count;
    else if (s->displs)
        at = s->large_displs ? ((const MPI_Aint *)s->displs)[i] : ((const int *)s->displs)[i];
    p.at = (char *)s->at;
    if (at) p.at += at * (s->types ? 1 : extent_of(p.type));
    return p;
}

static int is_v(int kind) { return kind >= GATHERV; }

/* The messages that this rank sends and receives; the arrays have room for all. With `in_place`, `out` is to be copied.
 */
static void pieces(const struct call *k, struct piece *out, int *n_out, struct piece *in, int *n_in, int *in_place) {
    const struct comm *c = k->c;
    const struct side *give = &k->give, *get = &k->get;
    int here = c->rank == k->root, a = 0, b = 0;
    *in_place = give->at == MPI_IN_PLACE;
    switch (k->kind) {
    case GATHERV:
        if (!here || !*in_place) out[a++] = piece_of(give, 0, k->root);
        for (int i = 0; here && i < c->size; i++)
            if (i != c->rank || !*in_place) in[b++] = piece_of(get, i, i);
        *in_place = 0;
        break;
    case SCATTERV:
        for (int i = 0; here && i < c->size; i++)
            if (i != c->rank || get->at != MPI_IN_PLACE) out[a++] = piece_of(give, i, i);
        if (!here || get->at != MPI_IN_PLACE) in[b++] = piece_of(get, 0, k->root);
        *in_place = 0;
        break;
    case ALLGATHERV:
        for (int i = 0; i < c->size; i++) {
            if (i == c->rank && *in_place) continue;
            out[a] = *in_place ? piece_of(get, c->rank, i) : piece_of(give, 0, i);
            a++;
            in[b++] = piece_of(get, i, i);
        }
        /* What is sent lies where nothing is received. */
        *in_place = 0;
        break;
    case ALLTOALLV:
    case ALLTOALLW:
        for (int i = 0; i < c->size; i++) {
            if (i == c->rank && *in_place) continue;
            out[a++] = piece_of(*in_place ? get : give, i, i);
            in[b++] = piece_of(get, i, i);
        }
        break;
    default: /* of neighbours */
        for (int i = 0; i < c->destinations; i++)
            if (c->to[i] != MPI_PROC_NULL) out[a++] = piece_of(give, i, c->to[i]);
        for (int i = 0; i < c->sources; i++)
            if (c->from[i] != MPI_PROC_NULL) in[b++] = piece_of(get, i, c->from[i]);
    }
    *n_out = a;
    *n_in = b;
    for (struct piece *p = out; p < out + a; p++) p->bytes = p->count > 0 ? length(p->count, p->type) : 0;
    for (struct piece *p = in; p < in + b; p++) p->bytes = p->count > 0 ? length(p->count, p->type) : 0;
}

/* Of messages of a number of elements each, which two ranks know of. All ranks take them; what MPI refuses at this rank
 * is left to it. */
static int why_not_pieces(struct call *k) {
    size_t most = (size_t)(k->c->size + k->c->sources + k->c->destinations);
    struct piece *out = memory(2 * most * sizeof *out), *in = out + most;
    int n_out, n_in, in_place, why = FITS;
    pieces(k, out, &n_out, in, &n_in, &in_place);
    for (int i = 0; i < n_out + n_in; i++) {
        const struct piece *p = i < n_out ? &out[i] : &in[i - n_out];
        int bad = p->count > 0 && (!is_usable(p->type) || (p->bytes && is_nothing(p->at, p->type)));
        if (p->count < 0 || bad) why = ARGUMENTS;
        /* This rank's own on both sides. */
        for (int j = n_out; i < n_out && j < n_out + n_in && p->peer == k->c->rank; j++) {
            const struct piece *q = &in[j - n_out];
            int same = q->peer == p->peer && p->type == q->type && p->bytes && q->bytes;
            if (same && k->kind < NEIGHBOR_ALLGATHER && is_twice(p->at, q->at) && !in_place) why = ARGUMENTS;
        }
    }
    free(out);
    return why;
}

int why_not(struct call *k) {
    struct comm *c = k->c = record(k->comm);
    int is_neighbour = k->kind >= NEIGHBOR_ALLGATHER || k->kind == NEIGHBOR_ALLTOALL;
    if (!c || k->root < 0 || k->root >= c->size || (is_neighbour && !c->group)) return COMMUNICATOR;
    if (is_neighbour && !c->clear) return TOPOLOGY;
    switch (k->kind) {
    case BARRIER: return FITS;
    case REDUCE:
    case ALLREDUCE:
    case SCAN:
    case EXSCAN:
    case REDUCE_SCATTER_BLOCK:
    case REDUCE_SCATTER: return why_not_reduction(k);
    default: return is_v(k->kind) ? why_not_pieces(k) : why_not_blocks(k);
    }
}

/* ---- how they are begun ---- */
/* GOAL's function for the communicator: of all ranks, or of the group. */
#define START(name, ...) \
    (c->group ? goal.goal_group_##name(c->group, __VA_ARGS__, &r->run) : goal.goal_##name(__VA_ARGS__, &r->run))

static int begin_reduction(const struct call *k, struct request *r) {
    struct comm *c = k->c;
    const void *from = k->give.at;
    void *to = (void *)k->get.at;
    size_t count = (size_t)k->give.count;
    if (from == MPI_IN_PLACE) {
        int blocks = k->kind == REDUCE_SCATTER_BLOCK ? c->size : 1;
        from = as_bytes(to, blocks, k->give.count, k->give.type, length(k->give.count, k->give.type), 1, &r->give);
    }
    switch (k->kind) {
    case REDUCE: return START(ireduce, from, to, count, k->element, k->operation, k->root);
    case ALLREDUCE: return START(iallreduce, from, to, count, k->element, k->operation);
    case EXSCAN: return START(iexscan, from, to, count, k->element, k->operation);
    case SCAN: return START(iscan, from, to, count, k->element, k->operation);
    default: return START(ireduce_scatter, from, to, count, k->element, k->operation);
    }
}

static int begin_blocks(const struct call *k, struct request *r) {
    struct comm *c = k->c;
    const struct side *s = &k->give, *t = &k->get;
    size_t bytes = k->bytes;
    int n = c->size, here = c->rank == k->root, in_place = s->at == MPI_IN_PLACE;
    const void *from = NULL;
    void *to = NULL;
    switch (k->kind) {
    case BCAST:
        if (!here)
            from = to = for_bytes(r, (void *)s->at, 1, s->count, s->type, bytes);
        else
            from = to = (void *)as_bytes(s->at, 1, s->count, s->type, bytes, 0, &r->give);
        return START(ibroadcast, from, to, bytes, k->root);
    case ALLTOALL:
        from = as_bytes(in_place ? t->at : s->at, n, in_place ? t->count : s->count, in_place ? t->type : s->type,
                        bytes, in_place || k->unlike, &r->give);
        to = for_bytes(r, (void *)t->at, n, t->count, t->type, bytes);
        return START(ialltoall, from, to, bytes);
    case SCATTER:
        if (here) from = as_bytes(s->at, n, s->count, s->type, bytes, k->unlike, &r->give);
        /* The root's block stays where it is; what GOAL gives it goes nowhere. */
        to = t->at == MPI_IN_PLACE ? (r->get = memory(bytes)) :
            for_bytes(r, (void *)t->at, 1, t->count, t->type, bytes);
        return START(iscatter, from, to, bytes, k->root);
    default: /* ALLGATHER, GATHER */
        in_place = in_place && (here || k->kind == ALLGATHER);
        if (in_place)
            from = as_bytes(block(t, c->rank), 1, t->count, t->type, bytes, 1, &r->give);
        else
            from = as_bytes(s->at, 1, s->count, s->type, bytes, k->unlike, &r->give);
        if (k->kind == ALLGATHER || here) to = for_bytes(r, (void *)t->at, n, t->count, t->type, bytes);
        return k->kind == ALLGATHER ? START(iallgather, from, to, bytes) : START(igather, from, to, bytes, k->root);
    }
}

/* Writes the numbers of the real neighbours to `real` and their places to `places`. */
static void real_neighbours(const int *all, int n, int *real, int *places) {
    for (int i = 0, found = 0; i < n; i++) {
        if (all[i] == MPI_PROC_NULL) continue;
        real[found] = all[i];
        places[found++] = i;
    }
}

static int begin_neighbours(const struct call *k, struct request *r) {
    const struct comm *c = k->c;
    const struct side *s = &k->give, *t = &k->get;
    size_t most = (size_t)(c->sources > c->destinations ? c->sources : c->destinations) + 1, bytes = k->bytes;
    int *sources = memory(4 * sizeof(int) * most), *destinations = sources + most, *places = destinations + most;
    int *slots = places + most, n_from = c->from_real, n_to = c->to_real;
    real_neighbours(c->from, c->sources, sources, slots);
    real_neighbours(c->to, c->destinations, destinations, places);
    const void *from = s->at;
    void *to = (void *)t->at;
    if (n_to)
        from = as_bytes(from, c->destinations, s->count, s->type, bytes, n_to < c->destinations || k->unlike,
                        &r->give);
    for (int i = 0; i < n_to; i++) {
        /* Only in a copy are there places without a neighbour; later blocks move up. */
        if (places[i] != i)
            memcpy((char *)r->give + bytes * (size_t)i, (char *)r->give + bytes * (size_t)places[i], bytes);
    }
    if (n_from && (n_from < c->sources || !is_plain(t->type) || k->unlike)) {
        to = r->get = memory(bytes * (size_t)n_from);
        r->parts = memory(sizeof *r->parts * (size_t)n_from);
        for (int i = 0; i < n_from && !k->unlike; i++)
            add_part(r, (void *)block(t, slots[i]), (char *)to + bytes * (size_t)i, t->count, t->type, bytes);
    }
    int code = goal.goal_group_ineighbor_alltoall(c->group, sources, n_from, destinations, n_to, from, to, bytes,
                                                  &r->run);
    free(sources);
    return code;
}

/* ---- graphs ---- */
/* The job's rank of a member. */
static int in_job(const struct comm *c, int rank) { return c->ranks ? c->ranks[rank] : rank; }

/* Compiles and begins a graph, if it was built with GOAL_SUCCESS; frees it in any case. */
static int run_graph(const struct comm *c, struct request *r, GOAL_Graph graph, int code) {
    GOAL_Schedule schedule;
    if (code == GOAL_SUCCESS) code = goal.GOAL_Compile(graph, &schedule);
    if (code == GOAL_SUCCESS) {
        code = goal.GOAL_Run_bound(schedule, c->context, NULL, NULL, 0, &r->run);
        goal.GOAL_Free_schedule(&schedule);
    }
    goal.GOAL_Free_graph(&graph);
    return code;
}

/* Messages to and from others. With `chained`, each is received after the one before. */
static int exchange(const struct comm *c, struct request *r, const struct piece *out, int n_out,
                    const struct piece *in, int n_in, int chained) {
    GOAL_Graph graph;
    GOAL_Op op, before = -1;
    int code = goal.GOAL_Create(&graph);
    if (code != GOAL_SUCCESS) return code;
    for (const struct piece *p = out; p < out + n_out && code == GOAL_SUCCESS; p++)
        if (p->bytes && p->peer != c->rank)
            code = goal.GOAL_Send(graph, p->at, GOAL_USERSPACE, p->bytes, in_job(c, p->peer), 0, NULL);
    for (const struct piece *p = in; p < in + n_in && code == GOAL_SUCCESS; p++) {
        if (!p->bytes || p->peer == c->rank) continue;
        code = goal.GOAL_Recv(graph, p->at, GOAL_USERSPACE, p->bytes, in_job(c, p->peer), 0, &op);
        if (chained && before >= 0 && code == GOAL_SUCCESS) code = goal.GOAL_Requires(graph, op, before);
        before = op;
    }
    return run_graph(c, r, graph, code);
}

static int begin_pieces(const struct call *k, struct request *r) {
    const struct comm *c = k->c;
    size_t most = (size_t)(c->size + c->sources + c->destinations), give = 0, get = 0;
    struct piece *out = memory(2 * most * sizeof *out), *in = out + most;
    int n_out, n_in, in_place, code;
    pieces(k, out, &n_out, in, &n_in, &in_place);
    for (int i = 0; i < n_out; i++) give += out[i].bytes;
    for (int i = 0; i < n_in; i++) get += in[i].bytes && !is_plain(in[i].type) ? in[i].bytes : 0;
    for (int again = 0;; again = 1) {
        /* Copies: of what is in place, and of what programs let overlap although MPI forbids it. */
        char *at = NULL;
        for (int i = 0; i < n_out; i++) {
            struct piece *p = &out[i], *before = i ? p - 1 : NULL;
            if (!p->bytes || (is_plain(p->type) && !in_place && !again)) continue;
            if (!at) at = r->give = memory(give);
            char *old = p->at;
            if (before && k->give.is_one) {
                p->at = before->at;
                continue;
            }
            if (is_plain(p->type))
                memcpy(at, old, p->bytes);
            else
                move_block(old, p->count, p->type, at, p->bytes, 0);
            p->at = at;
            at += p->bytes;
        }
        if (!again && get) {
            char *next = r->get = memory(get);
            r->parts = memory(sizeof *r->parts * (size_t)n_in);
            for (struct piece *p = in; p < in + n_in; p++) {
                if (!p->bytes || is_plain(p->type)) continue;
                add_part(r, p->at, next, p->count, p->type, p->bytes);
                p->at = next;
                next += p->bytes;
            }
        }
        code = exchange(c, r, out, n_out, in, n_in, again);
        if (code != GOAL_ERR_OVERLAP || again) break;
        /* `out` has the places of copies now, if there are any: they are made anew from where the data lie. */
        free(r->give);
        r->give = NULL;
        struct piece *none = memory(most * sizeof *none);
        int ignored;
        pieces(k, out, &n_out, none, &ignored, &in_place);
        free(none);
    }
    /* This rank's message to itself. */
    for (struct piece *p = out; p < out + n_out && code == GOAL_SUCCESS; p++) {
        if (p->peer != c->rank) continue;
        for (struct piece *q = in; q < in + n_in; q++)
            if (q->peer == c->rank) memmove(q->at, p->at, p->bytes < q->bytes ? p->bytes : q->bytes);
    }
    free(out);
    return code;
}

/* Each rank gets its block from all, and adds them in the order of ranks. */
static int begin_reduce_scatter(const struct call *k, struct request *r) {
    const struct comm *c = k->c;
    size_t size = length(1, k->give.type), mine = (size_t)count_of(&k->get, c->rank), all = 0, here = 0, at;
    const char *from = k->give.at;
    char *to = (char *)k->get.at;
    for (int i = 0; i < c->size; i++) {
        if (i == c->rank) here = all;
        all += size * (size_t)count_of(&k->get, i);
    }
    if (k->give.at == MPI_IN_PLACE) from = r->give = memcpy(memory(all), to, all);
    GOAL_Graph graph;
    GOAL_Op op, got, before = -1;
    int code = goal.GOAL_Create(&graph);
    if (code != GOAL_SUCCESS) return code;
    code = goal.GOAL_Scratchpad(graph, mine * size * (size_t)c->size, &at);
    size_t place = 0;
    for (int i = 0; i < c->size && code == GOAL_SUCCESS; i++) {
        size_t bytes = size * (size_t)count_of(&k->get, i);
        if (bytes && i != c->rank)
            code = goal.GOAL_Send(graph, from + place, GOAL_USERSPACE, bytes, in_job(c, i), 0, NULL);
        place += bytes;
    }
    for (int i = 0; mine && i < c->size && code == GOAL_SUCCESS; i++) {
        void *operand = i == c->rank ? (void *)(from + here) : GOAL_OFFSET(at + mine * size * (size_t)i);
        int space = i == c->rank ? GOAL_USERSPACE : GOAL_SCRATCHPAD;
        if (i != c->rank) code = goal.GOAL_Recv(graph, operand, space, mine * size, in_job(c, i), 0, &got);
        if (code != GOAL_SUCCESS) break;
        code = i == 0 ? goal.GOAL_Copy(graph, to, GOAL_USERSPACE, operand, space, mine * size, &op) :
            goal.GOAL_Local(graph, k->operation, k->element, mine, to, GOAL_USERSPACE, operand, space, &op);
        if (code == GOAL_SUCCESS && i != c->rank) code = goal.GOAL_Requires(graph, op, got);
        if (code == GOAL_SUCCESS && before >= 0) code = goal.GOAL_Requires(graph, op, before);
        before = op;
    }
    return run_graph(c, r, graph, code);
}

int begin(const struct call *k, struct request *r) {
    struct comm *c = k->c;
    r->unlike = k->unlike;
    switch (k->kind) {
    case BARRIER: return c->group ? goal.goal_group_ibarrier(c->group, &r->run) : goal.goal_ibarrier(&r->run);
    case REDUCE:
    case ALLREDUCE:
    case SCAN:
    case EXSCAN:
    case REDUCE_SCATTER_BLOCK: return begin_reduction(k, r);
    case REDUCE_SCATTER: return begin_reduce_scatter(k, r);
    case NEIGHBOR_ALLTOALL: return begin_neighbours(k, r);
    default: return is_v(k->kind) ? begin_pieces(k, r) : begin_blocks(k, r);
    }
}
