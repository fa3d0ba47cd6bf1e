/*
 * shmem.h: OpenSHMEM 1.6 (and all of 1.5), as libhetmp.so provides it.
 *
 * Compile and link with oshcc or oshc++, start with oshrun:
 *     oshcc -O2 hello.c -o hello && oshrun -n 4 ./hello
 *
 * A job is a number of processing elements (PEs), processes numbered from 0. Each has symmetric memory: the heap of
 * shmem_malloc, and the static and global variables of the executable (not of shared libraries). Where a routine
 * takes a symmetric address, pass the address of your own copy: it stands for the copy on the PE that is named.
 *
 * Sizes and errors. nelems counts elements of the routine's type; the ...mem forms count bytes, the forms with a
 * number in their name elements of that many bits. Strides count elements. A length of 0 does nothing, and addresses do
 * not matter then. Routines without a value do not fail: a PE number outside of the job, an address that is not
 * symmetric, or a call before shmem_init ends the job, every PE of it, with one line that names routine, PE and
 * value. HETMP_CHECK=1 in the environment also finds overlapping buffers and collective calls that do not match.
 * Environment variables: docs/environment.md, or `hetmp info --env`.
 *
 * Completion. When a put, a store by shmem_p or an atomic without value returns, its source may be used again, but it
 * may not have arrived: shmem_fence orders such operations for each target PE, shmem_quiet waits until all of them
 * are done. Gets and fetching atomics are done when they return. The _nbi forms only begin: buffers are in use until
 * shmem_quiet. A PE that computes and calls nothing is still served.
 *
 * Types. A routine exists for each TYPENAME that its comment refers to, and the name without TYPENAME is a macro with
 * C11, an overloaded function with C++, for the same types:
 *   RMA        float double longdouble char schar short int long longlong uchar ushort uint ulong ulonglong
 *              int8..int64 uint8..uint64 size ptrdiff
 *   AMO        int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff
 *   extended   AMO, float and double
 *   bitwise    uint ulong ulonglong int32 int64 uint32 uint64
 *   bits       the integers of RMA but char, schar and ptrdiff
 *   order      RMA
 *   arithmetic RMA, complexf and complexd (in C++ std::complex, and double _Complex where the compiler has it)
 * Routines with a context as the first argument (shmem_ctx_...; the macro or overload takes it first, too) number PEs
 * in the context's team; the others use SHMEM_CTX_DEFAULT and number PEs in the job.
 *
 * Profiling (section 10). Every routine NAME here has a twin pNAME, declared in pshmem.h:
 * define NAME yourself, in the program or in a library before libhetmp_shmem.so, and call pNAME. Typed routines are not
 * layered on each other: each is to be wrapped on its own. The C11 macros and C++ overloads call the typed routines.
 *
 * Define before including this file
 *   HETMP_SHMEM_WARN_DEPRECATED  to have deprecated routines warned about
 *   HETMP_SHMEM_NO_GENERICS      to have neither C11 macros nor C++ overloads
 *   HETMP_SHMEM_WARN             to have the compiler warn inside of this file as well
 *
 * Section numbers are those of OpenSHMEM 1.5; what came with 1.6 is marked. There is no Fortran interface: 1.5 removed
 * it in favour of Fortran's own interoperability with C.
 *
 * Generated from abi-compat/surface/src/ (this text: shmem.h.in). Do not edit.
 */
#ifndef HETMP_SHMEM_H
#define HETMP_SHMEM_H

#if defined(__GNUC__) && !defined(HETMP_SHMEM_WARN)
/* long long, complex numbers and variadic macros are fine in old dialects, too. */
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C++" {
#include <complex>
}
#define HETMP_SHMEM_COMPLEX_DOUBLE_ ::std::complex<double>
#define HETMP_SHMEM_COMPLEX_FLOAT_ ::std::complex<float>
#else
#define HETMP_SHMEM_COMPLEX_DOUBLE_ double _Complex
#define HETMP_SHMEM_COMPLEX_FLOAT_ float _Complex
#endif

#ifdef __GNUC__
#define HETMP_SHMEM_NORETURN_ __attribute__((__noreturn__))
#else
#define HETMP_SHMEM_NORETURN_
#endif
#if defined(__GNUC__) && defined(HETMP_SHMEM_WARN_DEPRECATED)
#define HETMP_SHMEM_OLD_(INSTEAD) __attribute__((__deprecated__("use " INSTEAD)))
#else
#define HETMP_SHMEM_OLD_(INSTEAD)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Constants (section 6) and handles (7) ---- */

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
/* Bytes of SHMEM_VENDOR_STRING at most, with its terminating zero. */
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "hetmp"

/* Python's shmem4py (1.0) tells libraries by macros of their headers, and takes one that it does not know for a
 * library without the routines of 1.5: its own stand-ins for them then clash with the declarations below. These
 * two macros are what it knows Sandia OpenSHMEM by, and there it uses 1.5 as the specification says, nothing else. */
#ifndef SHMEM_DEF_H
#define SHMEM_DEF_H
#endif
#ifndef SHMEM_FUNCTION_ATTRIBUTES
#define SHMEM_FUNCTION_ATTRIBUTES
#endif

/* A context: an independent stream of operations that fence and quiet order and complete on their own. */
typedef struct hetmp_shmem_ctx *shmem_ctx_t;
/* A team: PEs of the job, numbered from 0 in the team. */
typedef struct hetmp_shmem_team *shmem_team_t;

#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
/* All PEs of the job. */
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
/* Those whose memory this PE can load from and store to, by shmem_ptr. */
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)

/* Thread levels, for shmem_init_thread. */
#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

/* Options of a context: used only by the thread that made it; never by two threads at a time; fence and quiet
 * need not order plain stores. */
#define SHMEM_CTX_PRIVATE 1L
#define SHMEM_CTX_SERIALIZED 2L
#define SHMEM_CTX_NOSTORE 4L

/* Options and mask of a session (1.6). */
#define SHMEM_CTX_SESSION_BATCH 1L
#define SHMEM_CTX_SESSION_TOTAL_OPS 1L

/* Mask of shmem_team_config_t. */
#define SHMEM_TEAM_NUM_CONTEXTS 1L

/* Hints to shmem_malloc_with_hints: other PEs use the memory for atomics, for signals. */
#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L

/* What a put with signal does to the signal. */
#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

/* Comparisons. */
#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_GE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_LE 5

/* Work arrays of the collective routines over active sets (deprecated with them): pSync has this many longs, each
 * SHMEM_SYNC_VALUE before its first use and again after each use; pWrk has the larger of
 * SHMEM_REDUCE_MIN_WRKDATA_SIZE and nreduce / 2 + 1 elements. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 64
#define SHMEM_BARRIER_SYNC_SIZE 64
#define SHMEM_BCAST_SYNC_SIZE 64
#define SHMEM_REDUCE_SYNC_SIZE 64
#define SHMEM_COLLECT_SYNC_SIZE 64
#define SHMEM_ALLTOALL_SYNC_SIZE 64
#define SHMEM_ALLTOALLS_SYNC_SIZE 64
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 16

/* Deprecated names of constants. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* What a team is made with; only what the mask names counts. num_contexts: contexts that will be made from it. */
typedef struct {
    int num_contexts;
} shmem_team_config_t;

/* What a session begins with (1.6); only what the mask names counts. total_ops: operations to expect. */
typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;

/* ---- Setup, exit, queries (section 9.1) ----
 * shmem_init and shmem_finalize are collective over all PEs and pair up; since 1.6 they may be called several times.
 * shmem_finalize waits for all operations of all PEs. Returning from main finalizes, too (deprecated).
 * shmem_global_exit ends every PE with this status. my_pe and n_pes: 0 <= my_pe < n_pes.
 * pe_accessible and addr_accessible: 1 if the routines here reach that PE, that address on it; else 0.
 * shmem_ptr: where dest of that PE can be loaded and stored directly; null where it cannot.
 * shmem_team_ptr (1.6): the same, pe numbered in the team.
 * info_get_name stores at most SHMEM_MAX_NAME_LEN bytes. query_initialized (1.6): 1 between init and finalize.
 * pcontrol does nothing: it is for profiling libraries to define. */
void shmem_init(void);
void shmem_finalize(void);
HETMP_SHMEM_NORETURN_ void shmem_global_exit(int status);
int shmem_my_pe(void);
int shmem_n_pes(void);
int shmem_pe_accessible(int pe);
int shmem_addr_accessible(const void *addr, int pe);
void *shmem_ptr(const void *dest, int pe);
void *shmem_team_ptr(shmem_team_t team, const void *dest, int pe);
void shmem_info_get_version(int *major, int *minor);
void shmem_info_get_name(char *name);
void shmem_query_initialized(int *initialized);
void shmem_pcontrol(int level, ...);

/* Deprecated since 1.2. start_pes ignores its argument and may be called again. */
void start_pes(int npes) HETMP_SHMEM_OLD_("shmem_init");
int _my_pe(void) HETMP_SHMEM_OLD_("shmem_my_pe");
int _num_pes(void) HETMP_SHMEM_OLD_("shmem_n_pes");

/* ---- Threads (section 9.2) ----
 * shmem_init_thread: shmem_init for a program with threads; stores the level it provides, which is the one that is
 * requested (a SHMEM_THREAD_ constant), and returns 0. query_thread: that level. */
int shmem_init_thread(int requested, int *provided);
void shmem_query_thread(int *provided);

/* ---- Symmetric heap (section 9.3) ----
 * Collective over all PEs, with the same arguments on each. Allocations begin at multiples of 16 bytes or of alignment
 * (a power of two); null when size is 0 or the heap (SHMEM_SYMMETRIC_SIZE) has no room.
 * calloc fills with zeros. realloc keeps what fits. free of null does nothing. All but a call with size 0 (or null)
 * end with a barrier; free and realloc begin with one. hints: SHMEM_MALLOC_ constants or'ed, or 0. */
void *shmem_malloc(size_t size);
void *shmem_calloc(size_t count, size_t size);
void *shmem_align(size_t alignment, size_t size);
void *shmem_malloc_with_hints(size_t size, long hints);
void *shmem_realloc(void *ptr, size_t size);
void shmem_free(void *ptr);

/* Deprecated since 1.2. */
void *shmalloc(size_t size) HETMP_SHMEM_OLD_("shmem_malloc");
void *shmemalign(size_t alignment, size_t size) HETMP_SHMEM_OLD_("shmem_align");
void *shrealloc(void *ptr, size_t size) HETMP_SHMEM_OLD_("shmem_realloc");
void shfree(void *ptr) HETMP_SHMEM_OLD_("shmem_free");

/* ---- Teams (section 9.4) ----
 * my_pe, n_pes: -1 for SHMEM_TEAM_INVALID. translate_pe: the number in dest_team of src_pe of src_team, or -1.
 * split_strided makes a team of PEs start, start + stride, ... (size of them) of the parent; split_2d teams of rows of
 * xrange PEs and of columns. Collective over the parent; 0 on success, and SHMEM_TEAM_INVALID is stored where the
 * caller is in none of the new team. get_config: 0 on success. destroy is collective over the team; WORLD, SHARED and
 * INVALID are left alone. */
int shmem_team_my_pe(shmem_team_t team);
int shmem_team_n_pes(shmem_team_t team);
int shmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config);
int shmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);
int shmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size, const
    shmem_team_config_t *config, long config_mask, shmem_team_t *new_team);
int shmem_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long
    xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
    shmem_team_t *yaxis_team);
void shmem_team_destroy(shmem_team_t team);

/* ---- Contexts (section 9.5) ----
 * create: 0 on success; else not 0, and SHMEM_CTX_INVALID is stored. destroy completes what is under way on the
 * context first. get_team: 0 on success. Sessions (1.6) are hints about what follows on a context, up to
 * session_stop: SHMEM_CTX_SESSION_BATCH means that many small operations follow, and that each may be late. */
int shmem_ctx_create(long options, shmem_ctx_t *ctx);
int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx);
void shmem_ctx_destroy(shmem_ctx_t ctx);
int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team);
void shmem_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long
    config_mask);
void shmem_ctx_session_stop(shmem_ctx_t ctx);

/* ---- Put (section 9.6.1): copies from here to PE pe. TYPENAME: RMA. ---- */
void shmem_float_put(float *dest, const float *source, size_t nelems, int pe);
void shmem_ctx_float_put(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe);
void shmem_double_put(double *dest, const double *source, size_t nelems, int pe);
void shmem_ctx_double_put(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe);
void shmem_longdouble_put(long double *dest, const long double *source, size_t nelems, int pe);
void shmem_ctx_longdouble_put(shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems,
    int pe);
void shmem_char_put(char *dest, const char *source, size_t nelems, int pe);
void shmem_ctx_char_put(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe);
void shmem_schar_put(signed char *dest, const signed char *source, size_t nelems, int pe);
void shmem_ctx_schar_put(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int
    pe);
void shmem_short_put(short *dest, const short *source, size_t nelems, int pe);
void shmem_ctx_short_put(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe);
void shmem_int_put(int *dest, const int *source, size_t nelems, int pe);
void shmem_ctx_int_put(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe);
void shmem_long_put(long *dest, const long *source, size_t nelems, int pe);
void shmem_ctx_long_put(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe);
void shmem_longlong_put(long long *dest, const long long *source, size_t nelems, int pe);
void shmem_ctx_longlong_put(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe);
void shmem_uchar_put(unsigned char *dest, const unsigned char *source, size_t nelems, int pe);
void shmem_ctx_uchar_put(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int
    pe);
void shmem_ushort_put(unsigned short *dest, const unsigned short *source, size_t nelems, int pe);
void shmem_ctx_ushort_put(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems,
    int pe);
void shmem_uint_put(unsigned int *dest, const unsigned int *source, size_t nelems, int pe);
void shmem_ctx_uint_put(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int
    pe);
void shmem_ulong_put(unsigned long *dest, const unsigned long *source, size_t nelems, int pe);
void shmem_ctx_ulong_put(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int
    pe);
void shmem_ulonglong_put(unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe);
void shmem_ctx_ulonglong_put(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source,
    size_t nelems, int pe);
void shmem_int8_put(int8_t *dest, const int8_t *source, size_t nelems, int pe);
void shmem_ctx_int8_put(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, int pe);
void shmem_int16_put(int16_t *dest, const int16_t *source, size_t nelems, int pe);
void shmem_ctx_int16_put(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, int pe);
void shmem_int32_put(int32_t *dest, const int32_t *source, size_t nelems, int pe);
void shmem_ctx_int32_put(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, int pe);
void shmem_int64_put(int64_t *dest, const int64_t *source, size_t nelems, int pe);
void shmem_ctx_int64_put(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, int pe);
void shmem_uint8_put(uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
void shmem_ctx_uint8_put(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
void shmem_uint16_put(uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
void shmem_ctx_uint16_put(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
void shmem_uint32_put(uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
void shmem_ctx_uint32_put(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
void shmem_uint64_put(uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
void shmem_ctx_uint64_put(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
void shmem_size_put(size_t *dest, const size_t *source, size_t nelems, int pe);
void shmem_ctx_size_put(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, int pe);
void shmem_ptrdiff_put(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
void shmem_ctx_ptrdiff_put(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
void shmem_put8(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put8(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_put16(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put16(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_put32(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put32(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_put64(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put64(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_put128(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put128(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_putmem(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_putmem(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);

/* Get: copies from PE pe to here. TYPENAME: RMA. */
void shmem_float_get(float *dest, const float *source, size_t nelems, int pe);
void shmem_ctx_float_get(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe);
void shmem_double_get(double *dest, const double *source, size_t nelems, int pe);
void shmem_ctx_double_get(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe);
void shmem_longdouble_get(long double *dest, const long double *source, size_t nelems, int pe);
void shmem_ctx_longdouble_get(shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems,
    int pe);
void shmem_char_get(char *dest, const char *source, size_t nelems, int pe);
void shmem_ctx_char_get(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe);
void shmem_schar_get(signed char *dest, const signed char *source, size_t nelems, int pe);
void shmem_ctx_schar_get(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int
    pe);
void shmem_short_get(short *dest, const short *source, size_t nelems, int pe);
void shmem_ctx_short_get(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe);
void shmem_int_get(int *dest, const int *source, size_t nelems, int pe);
void shmem_ctx_int_get(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe);
void shmem_long_get(long *dest, const long *source, size_t nelems, int pe);
void shmem_ctx_long_get(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe);
void shmem_longlong_get(long long *dest, const long long *source, size_t nelems, int pe);
void shmem_ctx_longlong_get(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe);
void shmem_uchar_get(unsigned char *dest, const unsigned char *source, size_t nelems, int pe);
void shmem_ctx_uchar_get(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int
    pe);
void shmem_ushort_get(unsigned short *dest, const unsigned short *source, size_t nelems, int pe);
void shmem_ctx_ushort_get(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems,
    int pe);
void shmem_uint_get(unsigned int *dest, const unsigned int *source, size_t nelems, int pe);
void shmem_ctx_uint_get(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int
    pe);
void shmem_ulong_get(unsigned long *dest, const unsigned long *source, size_t nelems, int pe);
void shmem_ctx_ulong_get(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int
    pe);
void shmem_ulonglong_get(unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe);
void shmem_ctx_ulonglong_get(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source,
    size_t nelems, int pe);
void shmem_int8_get(int8_t *dest, const int8_t *source, size_t nelems, int pe);
void shmem_ctx_int8_get(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, int pe);
void shmem_int16_get(int16_t *dest, const int16_t *source, size_t nelems, int pe);
void shmem_ctx_int16_get(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, int pe);
void shmem_int32_get(int32_t *dest, const int32_t *source, size_t nelems, int pe);
void shmem_ctx_int32_get(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, int pe);
void shmem_int64_get(int64_t *dest, const int64_t *source, size_t nelems, int pe);
void shmem_ctx_int64_get(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, int pe);
void shmem_uint8_get(uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
void shmem_ctx_uint8_get(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
void shmem_uint16_get(uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
void shmem_ctx_uint16_get(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
void shmem_uint32_get(uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
void shmem_ctx_uint32_get(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
void shmem_uint64_get(uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
void shmem_ctx_uint64_get(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
void shmem_size_get(size_t *dest, const size_t *source, size_t nelems, int pe);
void shmem_ctx_size_get(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, int pe);
void shmem_ptrdiff_get(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
void shmem_ctx_ptrdiff_get(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
void shmem_get8(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get8(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_get16(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get16(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_get32(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get32(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_get64(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get64(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_get128(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get128(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_getmem(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_getmem(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);

/* One value: stored at PE pe, in one piece. TYPENAME: RMA. */
void shmem_float_p(float *dest, float value, int pe);
void shmem_ctx_float_p(shmem_ctx_t ctx, float *dest, float value, int pe);
void shmem_double_p(double *dest, double value, int pe);
void shmem_ctx_double_p(shmem_ctx_t ctx, double *dest, double value, int pe);
void shmem_longdouble_p(long double *dest, long double value, int pe);
void shmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe);
void shmem_char_p(char *dest, char value, int pe);
void shmem_ctx_char_p(shmem_ctx_t ctx, char *dest, char value, int pe);
void shmem_schar_p(signed char *dest, signed char value, int pe);
void shmem_ctx_schar_p(shmem_ctx_t ctx, signed char *dest, signed char value, int pe);
void shmem_short_p(short *dest, short value, int pe);
void shmem_ctx_short_p(shmem_ctx_t ctx, short *dest, short value, int pe);
void shmem_int_p(int *dest, int value, int pe);
void shmem_ctx_int_p(shmem_ctx_t ctx, int *dest, int value, int pe);
void shmem_long_p(long *dest, long value, int pe);
void shmem_ctx_long_p(shmem_ctx_t ctx, long *dest, long value, int pe);
void shmem_longlong_p(long long *dest, long long value, int pe);
void shmem_ctx_longlong_p(shmem_ctx_t ctx, long long *dest, long long value, int pe);
void shmem_uchar_p(unsigned char *dest, unsigned char value, int pe);
void shmem_ctx_uchar_p(shmem_ctx_t ctx, unsigned char *dest, unsigned char value, int pe);
void shmem_ushort_p(unsigned short *dest, unsigned short value, int pe);
void shmem_ctx_ushort_p(shmem_ctx_t ctx, unsigned short *dest, unsigned short value, int pe);
void shmem_uint_p(unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_p(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
void shmem_ulong_p(unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_p(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe);
void shmem_ulonglong_p(unsigned long long *dest, unsigned long long value, int pe);
void shmem_ctx_ulonglong_p(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe);
void shmem_int8_p(int8_t *dest, int8_t value, int pe);
void shmem_ctx_int8_p(shmem_ctx_t ctx, int8_t *dest, int8_t value, int pe);
void shmem_int16_p(int16_t *dest, int16_t value, int pe);
void shmem_ctx_int16_p(shmem_ctx_t ctx, int16_t *dest, int16_t value, int pe);
void shmem_int32_p(int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_p(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
void shmem_int64_p(int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_p(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
void shmem_uint8_p(uint8_t *dest, uint8_t value, int pe);
void shmem_ctx_uint8_p(shmem_ctx_t ctx, uint8_t *dest, uint8_t value, int pe);
void shmem_uint16_p(uint16_t *dest, uint16_t value, int pe);
void shmem_ctx_uint16_p(shmem_ctx_t ctx, uint16_t *dest, uint16_t value, int pe);
void shmem_uint32_p(uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_p(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
void shmem_uint64_p(uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_p(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
void shmem_size_p(size_t *dest, size_t value, int pe);
void shmem_ctx_size_p(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
void shmem_ptrdiff_p(ptrdiff_t *dest, ptrdiff_t value, int pe);
void shmem_ctx_ptrdiff_p(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe);

/* One value: loaded from PE pe, in one piece. TYPENAME: RMA. */
float shmem_float_g(const float *source, int pe);
float shmem_ctx_float_g(shmem_ctx_t ctx, const float *source, int pe);
double shmem_double_g(const double *source, int pe);
double shmem_ctx_double_g(shmem_ctx_t ctx, const double *source, int pe);
long double shmem_longdouble_g(const long double *source, int pe);
long double shmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe);
char shmem_char_g(const char *source, int pe);
char shmem_ctx_char_g(shmem_ctx_t ctx, const char *source, int pe);
signed char shmem_schar_g(const signed char *source, int pe);
signed char shmem_ctx_schar_g(shmem_ctx_t ctx, const signed char *source, int pe);
short shmem_short_g(const short *source, int pe);
short shmem_ctx_short_g(shmem_ctx_t ctx, const short *source, int pe);
int shmem_int_g(const int *source, int pe);
int shmem_ctx_int_g(shmem_ctx_t ctx, const int *source, int pe);
long shmem_long_g(const long *source, int pe);
long shmem_ctx_long_g(shmem_ctx_t ctx, const long *source, int pe);
long long shmem_longlong_g(const long long *source, int pe);
long long shmem_ctx_longlong_g(shmem_ctx_t ctx, const long long *source, int pe);
unsigned char shmem_uchar_g(const unsigned char *source, int pe);
unsigned char shmem_ctx_uchar_g(shmem_ctx_t ctx, const unsigned char *source, int pe);
unsigned short shmem_ushort_g(const unsigned short *source, int pe);
unsigned short shmem_ctx_ushort_g(shmem_ctx_t ctx, const unsigned short *source, int pe);
unsigned int shmem_uint_g(const unsigned int *source, int pe);
unsigned int shmem_ctx_uint_g(shmem_ctx_t ctx, const unsigned int *source, int pe);
unsigned long shmem_ulong_g(const unsigned long *source, int pe);
unsigned long shmem_ctx_ulong_g(shmem_ctx_t ctx, const unsigned long *source, int pe);
unsigned long long shmem_ulonglong_g(const unsigned long long *source, int pe);
unsigned long long shmem_ctx_ulonglong_g(shmem_ctx_t ctx, const unsigned long long *source, int pe);
int8_t shmem_int8_g(const int8_t *source, int pe);
int8_t shmem_ctx_int8_g(shmem_ctx_t ctx, const int8_t *source, int pe);
int16_t shmem_int16_g(const int16_t *source, int pe);
int16_t shmem_ctx_int16_g(shmem_ctx_t ctx, const int16_t *source, int pe);
int32_t shmem_int32_g(const int32_t *source, int pe);
int32_t shmem_ctx_int32_g(shmem_ctx_t ctx, const int32_t *source, int pe);
int64_t shmem_int64_g(const int64_t *source, int pe);
int64_t shmem_ctx_int64_g(shmem_ctx_t ctx, const int64_t *source, int pe);
uint8_t shmem_uint8_g(const uint8_t *source, int pe);
uint8_t shmem_ctx_uint8_g(shmem_ctx_t ctx, const uint8_t *source, int pe);
uint16_t shmem_uint16_g(const uint16_t *source, int pe);
uint16_t shmem_ctx_uint16_g(shmem_ctx_t ctx, const uint16_t *source, int pe);
uint32_t shmem_uint32_g(const uint32_t *source, int pe);
uint32_t shmem_ctx_uint32_g(shmem_ctx_t ctx, const uint32_t *source, int pe);
uint64_t shmem_uint64_g(const uint64_t *source, int pe);
uint64_t shmem_ctx_uint64_g(shmem_ctx_t ctx, const uint64_t *source, int pe);
size_t shmem_size_g(const size_t *source, int pe);
size_t shmem_ctx_size_g(shmem_ctx_t ctx, const size_t *source, int pe);
ptrdiff_t shmem_ptrdiff_g(const ptrdiff_t *source, int pe);
ptrdiff_t shmem_ctx_ptrdiff_g(shmem_ctx_t ctx, const ptrdiff_t *source, int pe);

/* Strided put: element i goes from source + i * sst to dest + i * dst. TYPENAME: RMA. */
void shmem_float_iput(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_float_iput(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_double_iput(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_double_iput(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_longdouble_iput(long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_longdouble_iput(shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_char_iput(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_char_iput(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_schar_iput(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_schar_iput(shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_short_iput(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_short_iput(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_int_iput(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_int_iput(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_long_iput(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_long_iput(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_longlong_iput(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_longlong_iput(shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_uchar_iput(unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_uchar_iput(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_ushort_iput(unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_ctx_ushort_iput(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_uint_iput(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_uint_iput(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_ulong_iput(unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_ulong_iput(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_ulonglong_iput(unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
void shmem_ctx_ulonglong_iput(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_int8_iput(int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_int8_iput(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_int16_iput(int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_int16_iput(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_int32_iput(int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_int32_iput(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_int64_iput(int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_int64_iput(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_uint8_iput(uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_uint8_iput(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_uint16_iput(uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
void shmem_ctx_uint16_iput(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
void shmem_uint32_iput(uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
void shmem_ctx_uint32_iput(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
void shmem_uint64_iput(uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
void shmem_ctx_uint64_iput(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
void shmem_size_iput(size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_size_iput(shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_ptrdiff_iput(ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
void shmem_ctx_ptrdiff_iput(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_iput8(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iput8(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_iput16(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iput16(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_iput32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iput32(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_iput64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iput64(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_iput128(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iput128(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);

/* Strided get. TYPENAME: RMA. */
void shmem_float_iget(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_float_iget(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_double_iget(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_double_iget(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_longdouble_iget(long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_longdouble_iget(shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_char_iget(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_char_iget(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_schar_iget(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_schar_iget(shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_short_iget(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_short_iget(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_int_iget(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_int_iget(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_long_iget(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_long_iget(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_longlong_iget(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_longlong_iget(shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_uchar_iget(unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_uchar_iget(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_ushort_iget(unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_ctx_ushort_iget(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_uint_iget(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_uint_iget(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_ulong_iget(unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_ctx_ulong_iget(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_ulonglong_iget(unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
void shmem_ctx_ulonglong_iget(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_int8_iget(int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_int8_iget(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_int16_iget(int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_int16_iget(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_int32_iget(int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_int32_iget(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_int64_iget(int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_int64_iget(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_uint8_iget(uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    pe);
void shmem_ctx_uint8_iget(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_uint16_iget(uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
void shmem_ctx_uint16_iget(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
void shmem_uint32_iget(uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
void shmem_ctx_uint32_iget(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
void shmem_uint64_iget(uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
void shmem_ctx_uint64_iget(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
void shmem_size_iget(size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_size_iget(shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
void shmem_ptrdiff_iget(ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
void shmem_ctx_ptrdiff_iget(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
void shmem_iget8(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iget8(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_iget16(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iget16(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_iget32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iget32(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_iget64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iget64(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
void shmem_iget128(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
void shmem_ctx_iget128(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);

/* Strided put of blocks (1.6): nblocks blocks of bsize elements, whose starts are this many elements apart; strides are
 * at least bsize. TYPENAME: RMA. */
void shmem_float_ibput(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_float_ibput(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_double_ibput(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_double_ibput(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_longdouble_ibput(long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_longdouble_ibput(shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_char_ibput(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_char_ibput(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_schar_ibput(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_schar_ibput(shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_short_ibput(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_short_ibput(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_int_ibput(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_int_ibput(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_long_ibput(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_long_ibput(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_longlong_ibput(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_longlong_ibput(shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_uchar_ibput(unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_uchar_ibput(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ushort_ibput(unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_ctx_ushort_ibput(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint_ibput(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_uint_ibput(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ulong_ibput(unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_ulong_ibput(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ulonglong_ibput(unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ctx_ulonglong_ibput(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_int8_ibput(int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_int8_ibput(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_int16_ibput(int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_int16_ibput(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_int32_ibput(int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_int32_ibput(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_int64_ibput(int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_int64_ibput(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint8_ibput(uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_uint8_ibput(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint16_ibput(uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_uint16_ibput(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint32_ibput(uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_uint32_ibput(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint64_ibput(uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_uint64_ibput(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_size_ibput(size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_size_ibput(shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_ptrdiff_ibput(ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_ptrdiff_ibput(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ibput8(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_ibput8(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ibput16(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_ibput16(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ibput32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_ibput32(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ibput64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_ibput64(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ibput128(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_ibput128(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);

/* Strided get of blocks (1.6). TYPENAME: RMA. */
void shmem_float_ibget(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_float_ibget(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_double_ibget(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_double_ibget(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_longdouble_ibget(long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_longdouble_ibget(shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_char_ibget(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_char_ibget(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_schar_ibget(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_schar_ibget(shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_short_ibget(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_short_ibget(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_int_ibget(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_int_ibget(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_long_ibget(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_long_ibget(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_longlong_ibget(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_longlong_ibget(shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_uchar_ibget(unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_uchar_ibget(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ushort_ibget(unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_ctx_ushort_ibget(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint_ibget(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_uint_ibget(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ulong_ibget(unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ctx_ulong_ibget(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ulonglong_ibget(unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ctx_ulonglong_ibget(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_int8_ibget(int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_int8_ibget(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_int16_ibget(int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_int16_ibget(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_int32_ibget(int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_int32_ibget(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_int64_ibget(int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_int64_ibget(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint8_ibget(uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_uint8_ibget(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint16_ibget(uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_uint16_ibget(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint32_ibget(uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_uint32_ibget(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_uint64_ibget(uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_uint64_ibget(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
void shmem_size_ibget(size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_size_ibget(shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
void shmem_ptrdiff_ibget(ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
void shmem_ctx_ptrdiff_ibget(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
void shmem_ibget8(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_ibget8(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ibget16(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_ibget16(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ibget32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_ibget32(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ibget64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
    int pe);
void shmem_ctx_ibget64(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
void shmem_ibget128(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t
    nblocks, int pe);
void shmem_ctx_ibget128(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);

/* ---- Nonblocking put and get (section 9.6.2): done after the next shmem_quiet. TYPENAME: RMA. ---- */
void shmem_float_put_nbi(float *dest, const float *source, size_t nelems, int pe);
void shmem_ctx_float_put_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe);
void shmem_double_put_nbi(double *dest, const double *source, size_t nelems, int pe);
void shmem_ctx_double_put_nbi(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe);
void shmem_longdouble_put_nbi(long double *dest, const long double *source, size_t nelems, int pe);
void shmem_ctx_longdouble_put_nbi(shmem_ctx_t ctx, long double *dest, const long double *source, size_t
    nelems, int pe);
void shmem_char_put_nbi(char *dest, const char *source, size_t nelems, int pe);
void shmem_ctx_char_put_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe);
void shmem_schar_put_nbi(signed char *dest, const signed char *source, size_t nelems, int pe);
void shmem_ctx_schar_put_nbi(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int
    pe);
void shmem_short_put_nbi(short *dest, const short *source, size_t nelems, int pe);
void shmem_ctx_short_put_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe);
void shmem_int_put_nbi(int *dest, const int *source, size_t nelems, int pe);
void shmem_ctx_int_put_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe);
void shmem_long_put_nbi(long *dest, const long *source, size_t nelems, int pe);
void shmem_ctx_long_put_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe);
void shmem_longlong_put_nbi(long long *dest, const long long *source, size_t nelems, int pe);
void shmem_ctx_longlong_put_nbi(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int
    pe);
void shmem_uchar_put_nbi(unsigned char *dest, const unsigned char *source, size_t nelems, int pe);
void shmem_ctx_uchar_put_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems,
    int pe);
void shmem_ushort_put_nbi(unsigned short *dest, const unsigned short *source, size_t nelems, int pe);
void shmem_ctx_ushort_put_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t
    nelems, int pe);
void shmem_uint_put_nbi(unsigned int *dest, const unsigned int *source, size_t nelems, int pe);
void shmem_ctx_uint_put_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems,
    int pe);
void shmem_ulong_put_nbi(unsigned long *dest, const unsigned long *source, size_t nelems, int pe);
void shmem_ctx_ulong_put_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems,
    int pe);
void shmem_ulonglong_put_nbi(unsigned long long *dest, const unsigned long long *source, size_t nelems, int
    pe);
void shmem_ctx_ulonglong_put_nbi(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source,
    size_t nelems, int pe);
void shmem_int8_put_nbi(int8_t *dest, const int8_t *source, size_t nelems, int pe);
void shmem_ctx_int8_put_nbi(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, int pe);
void shmem_int16_put_nbi(int16_t *dest, const int16_t *source, size_t nelems, int pe);
void shmem_ctx_int16_put_nbi(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, int pe);
void shmem_int32_put_nbi(int32_t *dest, const int32_t *source, size_t nelems, int pe);
void shmem_ctx_int32_put_nbi(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, int pe);
void shmem_int64_put_nbi(int64_t *dest, const int64_t *source, size_t nelems, int pe);
void shmem_ctx_int64_put_nbi(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, int pe);
void shmem_uint8_put_nbi(uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
void shmem_ctx_uint8_put_nbi(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
void shmem_uint16_put_nbi(uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
void shmem_ctx_uint16_put_nbi(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
void shmem_uint32_put_nbi(uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
void shmem_ctx_uint32_put_nbi(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
void shmem_uint64_put_nbi(uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
void shmem_ctx_uint64_put_nbi(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
void shmem_size_put_nbi(size_t *dest, const size_t *source, size_t nelems, int pe);
void shmem_ctx_size_put_nbi(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, int pe);
void shmem_ptrdiff_put_nbi(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
void shmem_ctx_ptrdiff_put_nbi(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int
    pe);
void shmem_put8_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put8_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_put16_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put16_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_put32_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put32_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_put64_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put64_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_put128_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_put128_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_putmem_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_putmem_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);

void shmem_float_get_nbi(float *dest, const float *source, size_t nelems, int pe);
void shmem_ctx_float_get_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe);
void shmem_double_get_nbi(double *dest, const double *source, size_t nelems, int pe);
void shmem_ctx_double_get_nbi(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe);
void shmem_longdouble_get_nbi(long double *dest, const long double *source, size_t nelems, int pe);
void shmem_ctx_longdouble_get_nbi(shmem_ctx_t ctx, long double *dest, const long double *source, size_t
    nelems, int pe);
void shmem_char_get_nbi(char *dest, const char *source, size_t nelems, int pe);
void shmem_ctx_char_get_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe);
void shmem_schar_get_nbi(signed char *dest, const signed char *source, size_t nelems, int pe);
void shmem_ctx_schar_get_nbi(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int
    pe);
void shmem_short_get_nbi(short *dest, const short *source, size_t nelems, int pe);
void shmem_ctx_short_get_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe);
void shmem_int_get_nbi(int *dest, const int *source, size_t nelems, int pe);
void shmem_ctx_int_get_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe);
void shmem_long_get_nbi(long *dest, const long *source, size_t nelems, int pe);
void shmem_ctx_long_get_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe);
void shmem_longlong_get_nbi(long long *dest, const long long *source, size_t nelems, int pe);
void shmem_ctx_longlong_get_nbi(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int
    pe);
void shmem_uchar_get_nbi(unsigned char *dest, const unsigned char *source, size_t nelems, int pe);
void shmem_ctx_uchar_get_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems,
    int pe);
void shmem_ushort_get_nbi(unsigned short *dest, const unsigned short *source, size_t nelems, int pe);
void shmem_ctx_ushort_get_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t
    nelems, int pe);
void shmem_uint_get_nbi(unsigned int *dest, const unsigned int *source, size_t nelems, int pe);
void shmem_ctx_uint_get_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems,
    int pe);
void shmem_ulong_get_nbi(unsigned long *dest, const unsigned long *source, size_t nelems, int pe);
void shmem_ctx_ulong_get_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems,
    int pe);
void shmem_ulonglong_get_nbi(unsigned long long *dest, const unsigned long long *source, size_t nelems, int
    pe);
void shmem_ctx_ulonglong_get_nbi(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source,
    size_t nelems, int pe);
void shmem_int8_get_nbi(int8_t *dest, const int8_t *source, size_t nelems, int pe);
void shmem_ctx_int8_get_nbi(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, int pe);
void shmem_int16_get_nbi(int16_t *dest, const int16_t *source, size_t nelems, int pe);
void shmem_ctx_int16_get_nbi(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, int pe);
void shmem_int32_get_nbi(int32_t *dest, const int32_t *source, size_t nelems, int pe);
void shmem_ctx_int32_get_nbi(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, int pe);
void shmem_int64_get_nbi(int64_t *dest, const int64_t *source, size_t nelems, int pe);
void shmem_ctx_int64_get_nbi(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, int pe);
void shmem_uint8_get_nbi(uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
void shmem_ctx_uint8_get_nbi(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
void shmem_uint16_get_nbi(uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
void shmem_ctx_uint16_get_nbi(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
void shmem_uint32_get_nbi(uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
void shmem_ctx_uint32_get_nbi(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
void shmem_uint64_get_nbi(uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
void shmem_ctx_uint64_get_nbi(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
void shmem_size_get_nbi(size_t *dest, const size_t *source, size_t nelems, int pe);
void shmem_ctx_size_get_nbi(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, int pe);
void shmem_ptrdiff_get_nbi(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
void shmem_ctx_ptrdiff_get_nbi(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int
    pe);
void shmem_get8_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get8_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_get16_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get16_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_get32_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get32_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_get64_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get64_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_get128_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_get128_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
void shmem_getmem_nbi(void *dest, const void *source, size_t nelems, int pe);
void shmem_ctx_getmem_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);

/* ---- Atomics (section 9.7) ----
 * Atomic with respect to each other on the same object with the same type, whoever runs them. dest is aligned to its
 * type. Integers wrap around. */

/* Returns the value. TYPENAME: extended. */
float shmem_float_atomic_fetch(const float *source, int pe);
float shmem_ctx_float_atomic_fetch(shmem_ctx_t ctx, const float *source, int pe);
double shmem_double_atomic_fetch(const double *source, int pe);
double shmem_ctx_double_atomic_fetch(shmem_ctx_t ctx, const double *source, int pe);
int shmem_int_atomic_fetch(const int *source, int pe);
int shmem_ctx_int_atomic_fetch(shmem_ctx_t ctx, const int *source, int pe);
long shmem_long_atomic_fetch(const long *source, int pe);
long shmem_ctx_long_atomic_fetch(shmem_ctx_t ctx, const long *source, int pe);
long long shmem_longlong_atomic_fetch(const long long *source, int pe);
long long shmem_ctx_longlong_atomic_fetch(shmem_ctx_t ctx, const long long *source, int pe);
unsigned int shmem_uint_atomic_fetch(const unsigned int *source, int pe);
unsigned int shmem_ctx_uint_atomic_fetch(shmem_ctx_t ctx, const unsigned int *source, int pe);
unsigned long shmem_ulong_atomic_fetch(const unsigned long *source, int pe);
unsigned long shmem_ctx_ulong_atomic_fetch(shmem_ctx_t ctx, const unsigned long *source, int pe);
unsigned long long shmem_ulonglong_atomic_fetch(const unsigned long long *source, int pe);
unsigned long long shmem_ctx_ulonglong_atomic_fetch(shmem_ctx_t ctx, const unsigned long long *source, int
    pe);
int32_t shmem_int32_atomic_fetch(const int32_t *source, int pe);
int32_t shmem_ctx_int32_atomic_fetch(shmem_ctx_t ctx, const int32_t *source, int pe);
int64_t shmem_int64_atomic_fetch(const int64_t *source, int pe);
int64_t shmem_ctx_int64_atomic_fetch(shmem_ctx_t ctx, const int64_t *source, int pe);
uint32_t shmem_uint32_atomic_fetch(const uint32_t *source, int pe);
uint32_t shmem_ctx_uint32_atomic_fetch(shmem_ctx_t ctx, const uint32_t *source, int pe);
uint64_t shmem_uint64_atomic_fetch(const uint64_t *source, int pe);
uint64_t shmem_ctx_uint64_atomic_fetch(shmem_ctx_t ctx, const uint64_t *source, int pe);
size_t shmem_size_atomic_fetch(const size_t *source, int pe);
size_t shmem_ctx_size_atomic_fetch(shmem_ctx_t ctx, const size_t *source, int pe);
ptrdiff_t shmem_ptrdiff_atomic_fetch(const ptrdiff_t *source, int pe);
ptrdiff_t shmem_ctx_ptrdiff_atomic_fetch(shmem_ctx_t ctx, const ptrdiff_t *source, int pe);

/* Stores the value. TYPENAME: extended. */
void shmem_float_atomic_set(float *dest, float value, int pe);
void shmem_ctx_float_atomic_set(shmem_ctx_t ctx, float *dest, float value, int pe);
void shmem_double_atomic_set(double *dest, double value, int pe);
void shmem_ctx_double_atomic_set(shmem_ctx_t ctx, double *dest, double value, int pe);
void shmem_int_atomic_set(int *dest, int value, int pe);
void shmem_ctx_int_atomic_set(shmem_ctx_t ctx, int *dest, int value, int pe);
void shmem_long_atomic_set(long *dest, long value, int pe);
void shmem_ctx_long_atomic_set(shmem_ctx_t ctx, long *dest, long value, int pe);
void shmem_longlong_atomic_set(long long *dest, long long value, int pe);
void shmem_ctx_longlong_atomic_set(shmem_ctx_t ctx, long long *dest, long long value, int pe);
void shmem_uint_atomic_set(unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_set(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
void shmem_ulong_atomic_set(unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_set(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe);
void shmem_ulonglong_atomic_set(unsigned long long *dest, unsigned long long value, int pe);
void shmem_ctx_ulonglong_atomic_set(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int
    pe);
void shmem_int32_atomic_set(int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_set(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
void shmem_int64_atomic_set(int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_set(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
void shmem_uint32_atomic_set(uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_set(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
void shmem_uint64_atomic_set(uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_set(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
void shmem_size_atomic_set(size_t *dest, size_t value, int pe);
void shmem_ctx_size_atomic_set(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
void shmem_ptrdiff_atomic_set(ptrdiff_t *dest, ptrdiff_t value, int pe);
void shmem_ctx_ptrdiff_atomic_set(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe);

/* Stores value if cond was there; returns what was there. TYPENAME: AMO. */
int shmem_int_atomic_compare_swap(int *dest, int cond, int value, int pe);
int shmem_ctx_int_atomic_compare_swap(shmem_ctx_t ctx, int *dest, int cond, int value, int pe);
long shmem_long_atomic_compare_swap(long *dest, long cond, long value, int pe);
long shmem_ctx_long_atomic_compare_swap(shmem_ctx_t ctx, long *dest, long cond, long value, int pe);
long long shmem_longlong_atomic_compare_swap(long long *dest, long long cond, long long value, int pe);
long long shmem_ctx_longlong_atomic_compare_swap(shmem_ctx_t ctx, long long *dest, long long cond, long long
    value, int pe);
unsigned int shmem_uint_atomic_compare_swap(unsigned int *dest, unsigned int cond, unsigned int value, int
    pe);
unsigned int shmem_ctx_uint_atomic_compare_swap(shmem_ctx_t ctx, unsigned int *dest, unsigned int cond,
    unsigned int value, int pe);
unsigned long shmem_ulong_atomic_compare_swap(unsigned long *dest, unsigned long cond, unsigned long value,
    int pe);
unsigned long shmem_ctx_ulong_atomic_compare_swap(shmem_ctx_t ctx, unsigned long *dest, unsigned long cond,
    unsigned long value, int pe);
unsigned long long shmem_ulonglong_atomic_compare_swap(unsigned long long *dest, unsigned long long cond,
    unsigned long long value, int pe);
unsigned long long shmem_ctx_ulonglong_atomic_compare_swap(shmem_ctx_t ctx, unsigned long long *dest, unsigned
    long long cond, unsigned long long value, int pe);
int32_t shmem_int32_atomic_compare_swap(int32_t *dest, int32_t cond, int32_t value, int pe);
int32_t shmem_ctx_int32_atomic_compare_swap(shmem_ctx_t ctx, int32_t *dest, int32_t cond, int32_t value, int
    pe);
int64_t shmem_int64_atomic_compare_swap(int64_t *dest, int64_t cond, int64_t value, int pe);
int64_t shmem_ctx_int64_atomic_compare_swap(shmem_ctx_t ctx, int64_t *dest, int64_t cond, int64_t value, int
    pe);
uint32_t shmem_uint32_atomic_compare_swap(uint32_t *dest, uint32_t cond, uint32_t value, int pe);
uint32_t shmem_ctx_uint32_atomic_compare_swap(shmem_ctx_t ctx, uint32_t *dest, uint32_t cond, uint32_t value,
    int pe);
uint64_t shmem_uint64_atomic_compare_swap(uint64_t *dest, uint64_t cond, uint64_t value, int pe);
uint64_t shmem_ctx_uint64_atomic_compare_swap(shmem_ctx_t ctx, uint64_t *dest, uint64_t cond, uint64_t value,
    int pe);
size_t shmem_size_atomic_compare_swap(size_t *dest, size_t cond, size_t value, int pe);
size_t shmem_ctx_size_atomic_compare_swap(shmem_ctx_t ctx, size_t *dest, size_t cond, size_t value, int pe);
ptrdiff_t shmem_ptrdiff_atomic_compare_swap(ptrdiff_t *dest, ptrdiff_t cond, ptrdiff_t value, int pe);
ptrdiff_t shmem_ctx_ptrdiff_atomic_compare_swap(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t cond, ptrdiff_t
    value, int pe);

/* Stores the value; returns what was there. TYPENAME: extended. */
float shmem_float_atomic_swap(float *dest, float value, int pe);
float shmem_ctx_float_atomic_swap(shmem_ctx_t ctx, float *dest, float value, int pe);
double shmem_double_atomic_swap(double *dest, double value, int pe);
double shmem_ctx_double_atomic_swap(shmem_ctx_t ctx, double *dest, double value, int pe);
int shmem_int_atomic_swap(int *dest, int value, int pe);
int shmem_ctx_int_atomic_swap(shmem_ctx_t ctx, int *dest, int value, int pe);
long shmem_long_atomic_swap(long *dest, long value, int pe);
long shmem_ctx_long_atomic_swap(shmem_ctx_t ctx, long *dest, long value, int pe);
long long shmem_longlong_atomic_swap(long long *dest, long long value, int pe);
long long shmem_ctx_longlong_atomic_swap(shmem_ctx_t ctx, long long *dest, long long value, int pe);
unsigned int shmem_uint_atomic_swap(unsigned int *dest, unsigned int value, int pe);
unsigned int shmem_ctx_uint_atomic_swap(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
unsigned long shmem_ulong_atomic_swap(unsigned long *dest, unsigned long value, int pe);
unsigned long shmem_ctx_ulong_atomic_swap(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe);
unsigned long long shmem_ulonglong_atomic_swap(unsigned long long *dest, unsigned long long value, int pe);
unsigned long long shmem_ctx_ulonglong_atomic_swap(shmem_ctx_t ctx, unsigned long long *dest, unsigned long
    long value, int pe);
int32_t shmem_int32_atomic_swap(int32_t *dest, int32_t value, int pe);
int32_t shmem_ctx_int32_atomic_swap(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
int64_t shmem_int64_atomic_swap(int64_t *dest, int64_t value, int pe);
int64_t shmem_ctx_int64_atomic_swap(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
uint32_t shmem_uint32_atomic_swap(uint32_t *dest, uint32_t value, int pe);
uint32_t shmem_ctx_uint32_atomic_swap(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
uint64_t shmem_uint64_atomic_swap(uint64_t *dest, uint64_t value, int pe);
uint64_t shmem_ctx_uint64_atomic_swap(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
size_t shmem_size_atomic_swap(size_t *dest, size_t value, int pe);
size_t shmem_ctx_size_atomic_swap(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
ptrdiff_t shmem_ptrdiff_atomic_swap(ptrdiff_t *dest, ptrdiff_t value, int pe);
ptrdiff_t shmem_ctx_ptrdiff_atomic_swap(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe);

/* Adds 1; returns what was there. TYPENAME: AMO. */
int shmem_int_atomic_fetch_inc(int *dest, int pe);
int shmem_ctx_int_atomic_fetch_inc(shmem_ctx_t ctx, int *dest, int pe);
long shmem_long_atomic_fetch_inc(long *dest, int pe);
long shmem_ctx_long_atomic_fetch_inc(shmem_ctx_t ctx, long *dest, int pe);
long long shmem_longlong_atomic_fetch_inc(long long *dest, int pe);
long long shmem_ctx_longlong_atomic_fetch_inc(shmem_ctx_t ctx, long long *dest, int pe);
unsigned int shmem_uint_atomic_fetch_inc(unsigned int *dest, int pe);
unsigned int shmem_ctx_uint_atomic_fetch_inc(shmem_ctx_t ctx, unsigned int *dest, int pe);
unsigned long shmem_ulong_atomic_fetch_inc(unsigned long *dest, int pe);
unsigned long shmem_ctx_ulong_atomic_fetch_inc(shmem_ctx_t ctx, unsigned long *dest, int pe);
unsigned long long shmem_ulonglong_atomic_fetch_inc(unsigned long long *dest, int pe);
unsigned long long shmem_ctx_ulonglong_atomic_fetch_inc(shmem_ctx_t ctx, unsigned long long *dest, int pe);
int32_t shmem_int32_atomic_fetch_inc(int32_t *dest, int pe);
int32_t shmem_ctx_int32_atomic_fetch_inc(shmem_ctx_t ctx, int32_t *dest, int pe);
int64_t shmem_int64_atomic_fetch_inc(int64_t *dest, int pe);
int64_t shmem_ctx_int64_atomic_fetch_inc(shmem_ctx_t ctx, int64_t *dest, int pe);
uint32_t shmem_uint32_atomic_fetch_inc(uint32_t *dest, int pe);
uint32_t shmem_ctx_uint32_atomic_fetch_inc(shmem_ctx_t ctx, uint32_t *dest, int pe);
uint64_t shmem_uint64_atomic_fetch_inc(uint64_t *dest, int pe);
uint64_t shmem_ctx_uint64_atomic_fetch_inc(shmem_ctx_t ctx, uint64_t *dest, int pe);
size_t shmem_size_atomic_fetch_inc(size_t *dest, int pe);
size_t shmem_ctx_size_atomic_fetch_inc(shmem_ctx_t ctx, size_t *dest, int pe);
ptrdiff_t shmem_ptrdiff_atomic_fetch_inc(ptrdiff_t *dest, int pe);
ptrdiff_t shmem_ctx_ptrdiff_atomic_fetch_inc(shmem_ctx_t ctx, ptrdiff_t *dest, int pe);

/* Adds 1. TYPENAME: AMO. */
void shmem_int_atomic_inc(int *dest, int pe);
void shmem_ctx_int_atomic_inc(shmem_ctx_t ctx, int *dest, int pe);
void shmem_long_atomic_inc(long *dest, int pe);
void shmem_ctx_long_atomic_inc(shmem_ctx_t ctx, long *dest, int pe);
void shmem_longlong_atomic_inc(long long *dest, int pe);
void shmem_ctx_longlong_atomic_inc(shmem_ctx_t ctx, long long *dest, int pe);
void shmem_uint_atomic_inc(unsigned int *dest, int pe);
void shmem_ctx_uint_atomic_inc(shmem_ctx_t ctx, unsigned int *dest, int pe);
void shmem_ulong_atomic_inc(unsigned long *dest, int pe);
void shmem_ctx_ulong_atomic_inc(shmem_ctx_t ctx, unsigned long *dest, int pe);
void shmem_ulonglong_atomic_inc(unsigned long long *dest, int pe);
void shmem_ctx_ulonglong_atomic_inc(shmem_ctx_t ctx, unsigned long long *dest, int pe);
void shmem_int32_atomic_inc(int32_t *dest, int pe);
void shmem_ctx_int32_atomic_inc(shmem_ctx_t ctx, int32_t *dest, int pe);
void shmem_int64_atomic_inc(int64_t *dest, int pe);
void shmem_ctx_int64_atomic_inc(shmem_ctx_t ctx, int64_t *dest, int pe);
void shmem_uint32_atomic_inc(uint32_t *dest, int pe);
void shmem_ctx_uint32_atomic_inc(shmem_ctx_t ctx, uint32_t *dest, int pe);
void shmem_uint64_atomic_inc(uint64_t *dest, int pe);
void shmem_ctx_uint64_atomic_inc(shmem_ctx_t ctx, uint64_t *dest, int pe);
void shmem_size_atomic_inc(size_t *dest, int pe);
void shmem_ctx_size_atomic_inc(shmem_ctx_t ctx, size_t *dest, int pe);
void shmem_ptrdiff_atomic_inc(ptrdiff_t *dest, int pe);
void shmem_ctx_ptrdiff_atomic_inc(shmem_ctx_t ctx, ptrdiff_t *dest, int pe);

/* Adds; returns what was there. TYPENAME: AMO. */
int shmem_int_atomic_fetch_add(int *dest, int value, int pe);
int shmem_ctx_int_atomic_fetch_add(shmem_ctx_t ctx, int *dest, int value, int pe);
long shmem_long_atomic_fetch_add(long *dest, long value, int pe);
long shmem_ctx_long_atomic_fetch_add(shmem_ctx_t ctx, long *dest, long value, int pe);
long long shmem_longlong_atomic_fetch_add(long long *dest, long long value, int pe);
long long shmem_ctx_longlong_atomic_fetch_add(shmem_ctx_t ctx, long long *dest, long long value, int pe);
unsigned int shmem_uint_atomic_fetch_add(unsigned int *dest, unsigned int value, int pe);
unsigned int shmem_ctx_uint_atomic_fetch_add(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
unsigned long shmem_ulong_atomic_fetch_add(unsigned long *dest, unsigned long value, int pe);
unsigned long shmem_ctx_ulong_atomic_fetch_add(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int
    pe);
unsigned long long shmem_ulonglong_atomic_fetch_add(unsigned long long *dest, unsigned long long value, int
    pe);
unsigned long long shmem_ctx_ulonglong_atomic_fetch_add(shmem_ctx_t ctx, unsigned long long *dest, unsigned
    long long value, int pe);
int32_t shmem_int32_atomic_fetch_add(int32_t *dest, int32_t value, int pe);
int32_t shmem_ctx_int32_atomic_fetch_add(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
int64_t shmem_int64_atomic_fetch_add(int64_t *dest, int64_t value, int pe);
int64_t shmem_ctx_int64_atomic_fetch_add(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
uint32_t shmem_uint32_atomic_fetch_add(uint32_t *dest, uint32_t value, int pe);
uint32_t shmem_ctx_uint32_atomic_fetch_add(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
uint64_t shmem_uint64_atomic_fetch_add(uint64_t *dest, uint64_t value, int pe);
uint64_t shmem_ctx_uint64_atomic_fetch_add(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
size_t shmem_size_atomic_fetch_add(size_t *dest, size_t value, int pe);
size_t shmem_ctx_size_atomic_fetch_add(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
ptrdiff_t shmem_ptrdiff_atomic_fetch_add(ptrdiff_t *dest, ptrdiff_t value, int pe);
ptrdiff_t shmem_ctx_ptrdiff_atomic_fetch_add(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe);

/* Adds. TYPENAME: AMO. */
void shmem_int_atomic_add(int *dest, int value, int pe);
void shmem_ctx_int_atomic_add(shmem_ctx_t ctx, int *dest, int value, int pe);
void shmem_long_atomic_add(long *dest, long value, int pe);
void shmem_ctx_long_atomic_add(shmem_ctx_t ctx, long *dest, long value, int pe);
void shmem_longlong_atomic_add(long long *dest, long long value, int pe);
void shmem_ctx_longlong_atomic_add(shmem_ctx_t ctx, long long *dest, long long value, int pe);
void shmem_uint_atomic_add(unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_add(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
void shmem_ulong_atomic_add(unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_add(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe);
void shmem_ulonglong_atomic_add(unsigned long long *dest, unsigned long long value, int pe);
void shmem_ctx_ulonglong_atomic_add(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int
    pe);
void shmem_int32_atomic_add(int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_add(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
void shmem_int64_atomic_add(int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_add(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
void shmem_uint32_atomic_add(uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_add(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
void shmem_uint64_atomic_add(uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_add(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
void shmem_size_atomic_add(size_t *dest, size_t value, int pe);
void shmem_ctx_size_atomic_add(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
void shmem_ptrdiff_atomic_add(ptrdiff_t *dest, ptrdiff_t value, int pe);
void shmem_ctx_ptrdiff_atomic_add(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe);

/* And, or, exclusive or; the fetch forms return what was there. TYPENAME: bitwise. */
unsigned int shmem_uint_atomic_fetch_and(unsigned int *dest, unsigned int value, int pe);
unsigned int shmem_ctx_uint_atomic_fetch_and(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
unsigned long shmem_ulong_atomic_fetch_and(unsigned long *dest, unsigned long value, int pe);
unsigned long shmem_ctx_ulong_atomic_fetch_and(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int
    pe);
unsigned long long shmem_ulonglong_atomic_fetch_and(unsigned long long *dest, unsigned long long value, int
    pe);
unsigned long long shmem_ctx_ulonglong_atomic_fetch_and(shmem_ctx_t ctx, unsigned long long *dest, unsigned
    long long value, int pe);
int32_t shmem_int32_atomic_fetch_and(int32_t *dest, int32_t value, int pe);
int32_t shmem_ctx_int32_atomic_fetch_and(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
int64_t shmem_int64_atomic_fetch_and(int64_t *dest, int64_t value, int pe);
int64_t shmem_ctx_int64_atomic_fetch_and(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
uint32_t shmem_uint32_atomic_fetch_and(uint32_t *dest, uint32_t value, int pe);
uint32_t shmem_ctx_uint32_atomic_fetch_and(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
uint64_t shmem_uint64_atomic_fetch_and(uint64_t *dest, uint64_t value, int pe);
uint64_t shmem_ctx_uint64_atomic_fetch_and(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
void shmem_uint_atomic_and(unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_and(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
void shmem_ulong_atomic_and(unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_and(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe);
void shmem_ulonglong_atomic_and(unsigned long long *dest, unsigned long long value, int pe);
void shmem_ctx_ulonglong_atomic_and(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int
    pe);
void shmem_int32_atomic_and(int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_and(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
void shmem_int64_atomic_and(int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_and(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
void shmem_uint32_atomic_and(uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_and(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
void shmem_uint64_atomic_and(uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_and(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
unsigned int shmem_uint_atomic_fetch_or(unsigned int *dest, unsigned int value, int pe);
unsigned int shmem_ctx_uint_atomic_fetch_or(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
unsigned long shmem_ulong_atomic_fetch_or(unsigned long *dest, unsigned long value, int pe);
unsigned long shmem_ctx_ulong_atomic_fetch_or(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int
    pe);
unsigned long long shmem_ulonglong_atomic_fetch_or(unsigned long long *dest, unsigned long long value, int
    pe);
unsigned long long shmem_ctx_ulonglong_atomic_fetch_or(shmem_ctx_t ctx, unsigned long long *dest, unsigned
    long long value, int pe);
int32_t shmem_int32_atomic_fetch_or(int32_t *dest, int32_t value, int pe);
int32_t shmem_ctx_int32_atomic_fetch_or(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
int64_t shmem_int64_atomic_fetch_or(int64_t *dest, int64_t value, int pe);
int64_t shmem_ctx_int64_atomic_fetch_or(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
uint32_t shmem_uint32_atomic_fetch_or(uint32_t *dest, uint32_t value, int pe);
uint32_t shmem_ctx_uint32_atomic_fetch_or(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
uint64_t shmem_uint64_atomic_fetch_or(uint64_t *dest, uint64_t value, int pe);
uint64_t shmem_ctx_uint64_atomic_fetch_or(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
void shmem_uint_atomic_or(unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_or(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
void shmem_ulong_atomic_or(unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_or(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe);
void shmem_ulonglong_atomic_or(unsigned long long *dest, unsigned long long value, int pe);
void shmem_ctx_ulonglong_atomic_or(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int
    pe);
void shmem_int32_atomic_or(int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_or(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
void shmem_int64_atomic_or(int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_or(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
void shmem_uint32_atomic_or(uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_or(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
void shmem_uint64_atomic_or(uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_or(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
unsigned int shmem_uint_atomic_fetch_xor(unsigned int *dest, unsigned int value, int pe);
unsigned int shmem_ctx_uint_atomic_fetch_xor(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
unsigned long shmem_ulong_atomic_fetch_xor(unsigned long *dest, unsigned long value, int pe);
unsigned long shmem_ctx_ulong_atomic_fetch_xor(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int
    pe);
unsigned long long shmem_ulonglong_atomic_fetch_xor(unsigned long long *dest, unsigned long long value, int
    pe);
unsigned long long shmem_ctx_ulonglong_atomic_fetch_xor(shmem_ctx_t ctx, unsigned long long *dest, unsigned
    long long value, int pe);
int32_t shmem_int32_atomic_fetch_xor(int32_t *dest, int32_t value, int pe);
int32_t shmem_ctx_int32_atomic_fetch_xor(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
int64_t shmem_int64_atomic_fetch_xor(int64_t *dest, int64_t value, int pe);
int64_t shmem_ctx_int64_atomic_fetch_xor(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
uint32_t shmem_uint32_atomic_fetch_xor(uint32_t *dest, uint32_t value, int pe);
uint32_t shmem_ctx_uint32_atomic_fetch_xor(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
uint64_t shmem_uint64_atomic_fetch_xor(uint64_t *dest, uint64_t value, int pe);
uint64_t shmem_ctx_uint64_atomic_fetch_xor(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
void shmem_uint_atomic_xor(unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_xor(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
void shmem_ulong_atomic_xor(unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_xor(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe);
void shmem_ulonglong_atomic_xor(unsigned long long *dest, unsigned long long value, int pe);
void shmem_ctx_ulonglong_atomic_xor(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int
    pe);
void shmem_int32_atomic_xor(int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_xor(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
void shmem_int64_atomic_xor(int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_xor(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
void shmem_uint32_atomic_xor(uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_xor(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
void shmem_uint64_atomic_xor(uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_xor(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);

/* Nonblocking atomics (section 9.7.2): what was there is in *fetch after the next shmem_quiet. */
void shmem_float_atomic_fetch_nbi(float *fetch, const float *source, int pe);
void shmem_ctx_float_atomic_fetch_nbi(shmem_ctx_t ctx, float *fetch, const float *source, int pe);
void shmem_double_atomic_fetch_nbi(double *fetch, const double *source, int pe);
void shmem_ctx_double_atomic_fetch_nbi(shmem_ctx_t ctx, double *fetch, const double *source, int pe);
void shmem_int_atomic_fetch_nbi(int *fetch, const int *source, int pe);
void shmem_ctx_int_atomic_fetch_nbi(shmem_ctx_t ctx, int *fetch, const int *source, int pe);
void shmem_long_atomic_fetch_nbi(long *fetch, const long *source, int pe);
void shmem_ctx_long_atomic_fetch_nbi(shmem_ctx_t ctx, long *fetch, const long *source, int pe);
void shmem_longlong_atomic_fetch_nbi(long long *fetch, const long long *source, int pe);
void shmem_ctx_longlong_atomic_fetch_nbi(shmem_ctx_t ctx, long long *fetch, const long long *source, int pe);
void shmem_uint_atomic_fetch_nbi(unsigned int *fetch, const unsigned int *source, int pe);
void shmem_ctx_uint_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned int *fetch, const unsigned int *source, int
    pe);
void shmem_ulong_atomic_fetch_nbi(unsigned long *fetch, const unsigned long *source, int pe);
void shmem_ctx_ulong_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned long *fetch, const unsigned long *source, int
    pe);
void shmem_ulonglong_atomic_fetch_nbi(unsigned long long *fetch, const unsigned long long *source, int pe);
void shmem_ctx_ulonglong_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned long long *fetch, const unsigned long long
    *source, int pe);
void shmem_int32_atomic_fetch_nbi(int32_t *fetch, const int32_t *source, int pe);
void shmem_ctx_int32_atomic_fetch_nbi(shmem_ctx_t ctx, int32_t *fetch, const int32_t *source, int pe);
void shmem_int64_atomic_fetch_nbi(int64_t *fetch, const int64_t *source, int pe);
void shmem_ctx_int64_atomic_fetch_nbi(shmem_ctx_t ctx, int64_t *fetch, const int64_t *source, int pe);
void shmem_uint32_atomic_fetch_nbi(uint32_t *fetch, const uint32_t *source, int pe);
void shmem_ctx_uint32_atomic_fetch_nbi(shmem_ctx_t ctx, uint32_t *fetch, const uint32_t *source, int pe);
void shmem_uint64_atomic_fetch_nbi(uint64_t *fetch, const uint64_t *source, int pe);
void shmem_ctx_uint64_atomic_fetch_nbi(shmem_ctx_t ctx, uint64_t *fetch, const uint64_t *source, int pe);
void shmem_size_atomic_fetch_nbi(size_t *fetch, const size_t *source, int pe);
void shmem_ctx_size_atomic_fetch_nbi(shmem_ctx_t ctx, size_t *fetch, const size_t *source, int pe);
void shmem_ptrdiff_atomic_fetch_nbi(ptrdiff_t *fetch, const ptrdiff_t *source, int pe);
void shmem_ctx_ptrdiff_atomic_fetch_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, const ptrdiff_t *source, int pe);
void shmem_int_atomic_compare_swap_nbi(int *fetch, int *dest, int cond, int value, int pe);
void shmem_ctx_int_atomic_compare_swap_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int cond, int value, int
    pe);
void shmem_long_atomic_compare_swap_nbi(long *fetch, long *dest, long cond, long value, int pe);
void shmem_ctx_long_atomic_compare_swap_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long cond, long value,
    int pe);
void shmem_longlong_atomic_compare_swap_nbi(long long *fetch, long long *dest, long long cond, long long
    value, int pe);
void shmem_ctx_longlong_atomic_compare_swap_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest, long long
    cond, long long value, int pe);
void shmem_uint_atomic_compare_swap_nbi(unsigned int *fetch, unsigned int *dest, unsigned int cond, unsigned
    int value, int pe);
void shmem_ctx_uint_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned
    int cond, unsigned int value, int pe);
void shmem_ulong_atomic_compare_swap_nbi(unsigned long *fetch, unsigned long *dest, unsigned long cond,
    unsigned long value, int pe);
void shmem_ctx_ulong_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest,
    unsigned long cond, unsigned long value, int pe);
void shmem_ulonglong_atomic_compare_swap_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned
    long long cond, unsigned long long value, int pe);
void shmem_ctx_ulonglong_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long
    long *dest, unsigned long long cond, unsigned long long value, int pe);
void shmem_int32_atomic_compare_swap_nbi(int32_t *fetch, int32_t *dest, int32_t cond, int32_t value, int pe);
void shmem_ctx_int32_atomic_compare_swap_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t cond,
    int32_t value, int pe);
void shmem_int64_atomic_compare_swap_nbi(int64_t *fetch, int64_t *dest, int64_t cond, int64_t value, int pe);
void shmem_ctx_int64_atomic_compare_swap_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t cond,
    int64_t value, int pe);
void shmem_uint32_atomic_compare_swap_nbi(uint32_t *fetch, uint32_t *dest, uint32_t cond, uint32_t value, int
    pe);
void shmem_ctx_uint32_atomic_compare_swap_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t cond,
    uint32_t value, int pe);
void shmem_uint64_atomic_compare_swap_nbi(uint64_t *fetch, uint64_t *dest, uint64_t cond, uint64_t value, int
    pe);
void shmem_ctx_uint64_atomic_compare_swap_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t cond,
    uint64_t value, int pe);
void shmem_size_atomic_compare_swap_nbi(size_t *fetch, size_t *dest, size_t cond, size_t value, int pe);
void shmem_ctx_size_atomic_compare_swap_nbi(shmem_ctx_t ctx, size_t *fetch, size_t *dest, size_t cond, size_t
    value, int pe);
void shmem_ptrdiff_atomic_compare_swap_nbi(ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t cond, ptrdiff_t value,
    int pe);
void shmem_ctx_ptrdiff_atomic_compare_swap_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t
    cond, ptrdiff_t value, int pe);
void shmem_float_atomic_swap_nbi(float *fetch, float *dest, float value, int pe);
void shmem_ctx_float_atomic_swap_nbi(shmem_ctx_t ctx, float *fetch, float *dest, float value, int pe);
void shmem_double_atomic_swap_nbi(double *fetch, double *dest, double value, int pe);
void shmem_ctx_double_atomic_swap_nbi(shmem_ctx_t ctx, double *fetch, double *dest, double value, int pe);
void shmem_int_atomic_swap_nbi(int *fetch, int *dest, int value, int pe);
void shmem_ctx_int_atomic_swap_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int value, int pe);
void shmem_long_atomic_swap_nbi(long *fetch, long *dest, long value, int pe);
void shmem_ctx_long_atomic_swap_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long value, int pe);
void shmem_longlong_atomic_swap_nbi(long long *fetch, long long *dest, long long value, int pe);
void shmem_ctx_longlong_atomic_swap_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest, long long value,
    int pe);
void shmem_uint_atomic_swap_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_swap_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int
    value, int pe);
void shmem_ulong_atomic_swap_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_swap_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long
    value, int pe);
void shmem_ulonglong_atomic_swap_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long long
    value, int pe);
void shmem_ctx_ulonglong_atomic_swap_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest,
    unsigned long long value, int pe);
void shmem_int32_atomic_swap_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_swap_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe);
void shmem_int64_atomic_swap_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_swap_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe);
void shmem_uint32_atomic_swap_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_swap_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value, int
    pe);
void shmem_uint64_atomic_swap_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_swap_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value, int
    pe);
void shmem_size_atomic_swap_nbi(size_t *fetch, size_t *dest, size_t value, int pe);
void shmem_ctx_size_atomic_swap_nbi(shmem_ctx_t ctx, size_t *fetch, size_t *dest, size_t value, int pe);
void shmem_ptrdiff_atomic_swap_nbi(ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value, int pe);
void shmem_ctx_ptrdiff_atomic_swap_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value,
    int pe);
void shmem_int_atomic_fetch_inc_nbi(int *fetch, int *dest, int pe);
void shmem_ctx_int_atomic_fetch_inc_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int pe);
void shmem_long_atomic_fetch_inc_nbi(long *fetch, long *dest, int pe);
void shmem_ctx_long_atomic_fetch_inc_nbi(shmem_ctx_t ctx, long *fetch, long *dest, int pe);
void shmem_longlong_atomic_fetch_inc_nbi(long long *fetch, long long *dest, int pe);
void shmem_ctx_longlong_atomic_fetch_inc_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest, int pe);
void shmem_uint_atomic_fetch_inc_nbi(unsigned int *fetch, unsigned int *dest, int pe);
void shmem_ctx_uint_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, int pe);
void shmem_ulong_atomic_fetch_inc_nbi(unsigned long *fetch, unsigned long *dest, int pe);
void shmem_ctx_ulong_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, int pe);
void shmem_ulonglong_atomic_fetch_inc_nbi(unsigned long long *fetch, unsigned long long *dest, int pe);
void shmem_ctx_ulonglong_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long
    *dest, int pe);
void shmem_int32_atomic_fetch_inc_nbi(int32_t *fetch, int32_t *dest, int pe);
void shmem_ctx_int32_atomic_fetch_inc_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int pe);
void shmem_int64_atomic_fetch_inc_nbi(int64_t *fetch, int64_t *dest, int pe);
void shmem_ctx_int64_atomic_fetch_inc_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int pe);
void shmem_uint32_atomic_fetch_inc_nbi(uint32_t *fetch, uint32_t *dest, int pe);
void shmem_ctx_uint32_atomic_fetch_inc_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, int pe);
void shmem_uint64_atomic_fetch_inc_nbi(uint64_t *fetch, uint64_t *dest, int pe);
void shmem_ctx_uint64_atomic_fetch_inc_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, int pe);
void shmem_size_atomic_fetch_inc_nbi(size_t *fetch, size_t *dest, int pe);
void shmem_ctx_size_atomic_fetch_inc_nbi(shmem_ctx_t ctx, size_t *fetch, size_t *dest, int pe);
void shmem_ptrdiff_atomic_fetch_inc_nbi(ptrdiff_t *fetch, ptrdiff_t *dest, int pe);
void shmem_ctx_ptrdiff_atomic_fetch_inc_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest, int pe);
void shmem_int_atomic_fetch_add_nbi(int *fetch, int *dest, int value, int pe);
void shmem_ctx_int_atomic_fetch_add_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int value, int pe);
void shmem_long_atomic_fetch_add_nbi(long *fetch, long *dest, long value, int pe);
void shmem_ctx_long_atomic_fetch_add_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long value, int pe);
void shmem_longlong_atomic_fetch_add_nbi(long long *fetch, long long *dest, long long value, int pe);
void shmem_ctx_longlong_atomic_fetch_add_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest, long long
    value, int pe);
void shmem_uint_atomic_fetch_add_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned
    int value, int pe);
void shmem_ulong_atomic_fetch_add_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned
    long value, int pe);
void shmem_ulonglong_atomic_fetch_add_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long
    long value, int pe);
void shmem_ctx_ulonglong_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long
    *dest, unsigned long long value, int pe);
void shmem_int32_atomic_fetch_add_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_fetch_add_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int
    pe);
void shmem_int64_atomic_fetch_add_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_fetch_add_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int
    pe);
void shmem_uint32_atomic_fetch_add_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_fetch_add_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value,
    int pe);
void shmem_uint64_atomic_fetch_add_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_fetch_add_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value,
    int pe);
void shmem_size_atomic_fetch_add_nbi(size_t *fetch, size_t *dest, size_t value, int pe);
void shmem_ctx_size_atomic_fetch_add_nbi(shmem_ctx_t ctx, size_t *fetch, size_t *dest, size_t value, int pe);
void shmem_ptrdiff_atomic_fetch_add_nbi(ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value, int pe);
void shmem_ctx_ptrdiff_atomic_fetch_add_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t
    value, int pe);
void shmem_uint_atomic_fetch_and_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned
    int value, int pe);
void shmem_ulong_atomic_fetch_and_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned
    long value, int pe);
void shmem_ulonglong_atomic_fetch_and_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long
    long value, int pe);
void shmem_ctx_ulonglong_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long
    *dest, unsigned long long value, int pe);
void shmem_int32_atomic_fetch_and_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_fetch_and_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int
    pe);
void shmem_int64_atomic_fetch_and_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_fetch_and_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int
    pe);
void shmem_uint32_atomic_fetch_and_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_fetch_and_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value,
    int pe);
void shmem_uint64_atomic_fetch_and_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_fetch_and_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value,
    int pe);
void shmem_uint_atomic_fetch_or_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int
    value, int pe);
void shmem_ulong_atomic_fetch_or_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned
    long value, int pe);
void shmem_ulonglong_atomic_fetch_or_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long
    long value, int pe);
void shmem_ctx_ulonglong_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long
    *dest, unsigned long long value, int pe);
void shmem_int32_atomic_fetch_or_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_fetch_or_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int
    pe);
void shmem_int64_atomic_fetch_or_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_fetch_or_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int
    pe);
void shmem_uint32_atomic_fetch_or_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_fetch_or_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value,
    int pe);
void shmem_uint64_atomic_fetch_or_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_fetch_or_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value,
    int pe);
void shmem_uint_atomic_fetch_xor_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe);
void shmem_ctx_uint_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned
    int value, int pe);
void shmem_ulong_atomic_fetch_xor_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe);
void shmem_ctx_ulong_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned
    long value, int pe);
void shmem_ulonglong_atomic_fetch_xor_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long
    long value, int pe);
void shmem_ctx_ulonglong_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long
    *dest, unsigned long long value, int pe);
void shmem_int32_atomic_fetch_xor_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
void shmem_ctx_int32_atomic_fetch_xor_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int
    pe);
void shmem_int64_atomic_fetch_xor_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
void shmem_ctx_int64_atomic_fetch_xor_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int
    pe);
void shmem_uint32_atomic_fetch_xor_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int pe);
void shmem_ctx_uint32_atomic_fetch_xor_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value,
    int pe);
void shmem_uint64_atomic_fetch_xor_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int pe);
void shmem_ctx_uint64_atomic_fetch_xor_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value,
    int pe);

/* Deprecated names of atomics, since 1.4. */
float shmem_float_fetch(const float *source, int pe) HETMP_SHMEM_OLD_("shmem_float_atomic_fetch");
double shmem_double_fetch(const double *source, int pe) HETMP_SHMEM_OLD_("shmem_double_atomic_fetch");
int shmem_int_fetch(const int *source, int pe) HETMP_SHMEM_OLD_("shmem_int_atomic_fetch");
long shmem_long_fetch(const long *source, int pe) HETMP_SHMEM_OLD_("shmem_long_atomic_fetch");
long long shmem_longlong_fetch(const long long *source, int pe)
    HETMP_SHMEM_OLD_("shmem_longlong_atomic_fetch");
void shmem_float_set(float *dest, float value, int pe) HETMP_SHMEM_OLD_("shmem_float_atomic_set");
void shmem_double_set(double *dest, double value, int pe) HETMP_SHMEM_OLD_("shmem_double_atomic_set");
void shmem_int_set(int *dest, int value, int pe) HETMP_SHMEM_OLD_("shmem_int_atomic_set");
void shmem_long_set(long *dest, long value, int pe) HETMP_SHMEM_OLD_("shmem_long_atomic_set");
void shmem_longlong_set(long long *dest, long long value, int pe)
    HETMP_SHMEM_OLD_("shmem_longlong_atomic_set");
int shmem_int_cswap(int *dest, int cond, int value, int pe) HETMP_SHMEM_OLD_("shmem_int_atomic_compare_swap");
long shmem_long_cswap(long *dest, long cond, long value, int pe)
    HETMP_SHMEM_OLD_("shmem_long_atomic_compare_swap");
long long shmem_longlong_cswap(long long *dest, long long cond, long long value, int pe)
    HETMP_SHMEM_OLD_("shmem_longlong_atomic_compare_swap");
float shmem_float_swap(float *dest, float value, int pe) HETMP_SHMEM_OLD_("shmem_float_atomic_swap");
double shmem_double_swap(double *dest, double value, int pe) HETMP_SHMEM_OLD_("shmem_double_atomic_swap");
int shmem_int_swap(int *dest, int value, int pe) HETMP_SHMEM_OLD_("shmem_int_atomic_swap");
long shmem_long_swap(long *dest, long value, int pe) HETMP_SHMEM_OLD_("shmem_long_atomic_swap");
long long shmem_longlong_swap(long long *dest, long long value, int pe)
    HETMP_SHMEM_OLD_("shmem_longlong_atomic_swap");
int shmem_int_finc(int *dest, int pe) HETMP_SHMEM_OLD_("shmem_int_atomic_fetch_inc");
long shmem_long_finc(long *dest, int pe) HETMP_SHMEM_OLD_("shmem_long_atomic_fetch_inc");
long long shmem_longlong_finc(long long *dest, int pe) HETMP_SHMEM_OLD_("shmem_longlong_atomic_fetch_inc");
void shmem_int_inc(int *dest, int pe) HETMP_SHMEM_OLD_("shmem_int_atomic_inc");
void shmem_long_inc(long *dest, int pe) HETMP_SHMEM_OLD_("shmem_long_atomic_inc");
void shmem_longlong_inc(long long *dest, int pe) HETMP_SHMEM_OLD_("shmem_longlong_atomic_inc");
int shmem_int_fadd(int *dest, int value, int pe) HETMP_SHMEM_OLD_("shmem_int_atomic_fetch_add");
long shmem_long_fadd(long *dest, long value, int pe) HETMP_SHMEM_OLD_("shmem_long_atomic_fetch_add");
long long shmem_longlong_fadd(long long *dest, long long value, int pe)
    HETMP_SHMEM_OLD_("shmem_longlong_atomic_fetch_add");
void shmem_int_add(int *dest, int value, int pe) HETMP_SHMEM_OLD_("shmem_int_atomic_add");
void shmem_long_add(long *dest, long value, int pe) HETMP_SHMEM_OLD_("shmem_long_atomic_add");
void shmem_longlong_add(long long *dest, long long value, int pe)
    HETMP_SHMEM_OLD_("shmem_longlong_atomic_add");

/* ---- Signals (section 9.8) ----
 * A put, and then, after its data have arrived, an update of the signal word sig_addr of the same PE: sig_op is
 * SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD. dest and sig_addr do not overlap. Wait for it with shmem_signal_wait_until.
 * TYPENAME: RMA. */
void shmem_float_put_signal(float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_float_put_signal(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_double_put_signal(double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_double_put_signal(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_longdouble_put_signal(long double *dest, const long double *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_longdouble_put_signal(shmem_ctx_t ctx, long double *dest, const long double *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_char_put_signal(char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_char_put_signal(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_schar_put_signal(signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_schar_put_signal(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_short_put_signal(short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_short_put_signal(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int_put_signal(int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_int_put_signal(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_long_put_signal(long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_long_put_signal(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_longlong_put_signal(long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_longlong_put_signal(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uchar_put_signal(unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_uchar_put_signal(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ushort_put_signal(unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_ushort_put_signal(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint_put_signal(unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint_put_signal(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ulong_put_signal(unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_ulong_put_signal(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ulonglong_put_signal(unsigned long long *dest, const unsigned long long *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_ulonglong_put_signal(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int8_put_signal(int8_t *dest, const int8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_int8_put_signal(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int16_put_signal(int16_t *dest, const int16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_int16_put_signal(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int32_put_signal(int32_t *dest, const int32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_int32_put_signal(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int64_put_signal(int64_t *dest, const int64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_int64_put_signal(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint8_put_signal(uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_uint8_put_signal(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint16_put_signal(uint16_t *dest, const uint16_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint16_put_signal(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint32_put_signal(uint32_t *dest, const uint32_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint32_put_signal(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint64_put_signal(uint64_t *dest, const uint64_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint64_put_signal(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_size_put_signal(size_t *dest, const size_t *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_size_put_signal(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ptrdiff_put_signal(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_ptrdiff_put_signal(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put8_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int
    sig_op, int pe);
void shmem_ctx_put8_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_put16_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_put16_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put32_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_put32_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put64_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_put64_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put128_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_put128_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_putmem_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_putmem_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);

void shmem_float_put_signal_nbi(float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_float_put_signal_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_double_put_signal_nbi(double *dest, const double *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_double_put_signal_nbi(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_longdouble_put_signal_nbi(long double *dest, const long double *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_longdouble_put_signal_nbi(shmem_ctx_t ctx, long double *dest, const long double *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_char_put_signal_nbi(char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_char_put_signal_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_schar_put_signal_nbi(signed char *dest, const signed char *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_schar_put_signal_nbi(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_short_put_signal_nbi(short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_short_put_signal_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int_put_signal_nbi(int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_int_put_signal_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_long_put_signal_nbi(long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_long_put_signal_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_longlong_put_signal_nbi(long long *dest, const long long *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_longlong_put_signal_nbi(shmem_ctx_t ctx, long long *dest, const long long *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uchar_put_signal_nbi(unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_uchar_put_signal_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ushort_put_signal_nbi(unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_ushort_put_signal_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint_put_signal_nbi(unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint_put_signal_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ulong_put_signal_nbi(unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_ulong_put_signal_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ulonglong_put_signal_nbi(unsigned long long *dest, const unsigned long long *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ctx_ulonglong_put_signal_nbi(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int8_put_signal_nbi(int8_t *dest, const int8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_int8_put_signal_nbi(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int16_put_signal_nbi(int16_t *dest, const int16_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_int16_put_signal_nbi(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int32_put_signal_nbi(int32_t *dest, const int32_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_int32_put_signal_nbi(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_int64_put_signal_nbi(int64_t *dest, const int64_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_int64_put_signal_nbi(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint8_put_signal_nbi(uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint8_put_signal_nbi(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint16_put_signal_nbi(uint16_t *dest, const uint16_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint16_put_signal_nbi(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint32_put_signal_nbi(uint32_t *dest, const uint32_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint32_put_signal_nbi(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_uint64_put_signal_nbi(uint64_t *dest, const uint64_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_uint64_put_signal_nbi(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_size_put_signal_nbi(size_t *dest, const size_t *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_size_put_signal_nbi(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_ptrdiff_put_signal_nbi(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
void shmem_ctx_ptrdiff_put_signal_nbi(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put8_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
    int sig_op, int pe);
void shmem_ctx_put8_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put16_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_put16_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put32_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_put32_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put64_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_put64_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_put128_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_put128_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
void shmem_putmem_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t
    signal, int sig_op, int pe);
void shmem_ctx_putmem_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);

/* fetch: this PE's own signal, in one piece. set, add (1.6): only the update of a signal; the C11 macros and the C++
 * overloads take a context as the first of four arguments. */
uint64_t shmem_signal_fetch(const volatile uint64_t *sig_addr);
void shmem_signal_set(uint64_t *sig_addr, uint64_t signal, int pe);
void shmem_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);
void shmem_signal_add(uint64_t *sig_addr, uint64_t signal, int pe);
void shmem_ctx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);

/* ---- Collective routines (section 9.9) ----
 * Every PE of the team calls them, in the same order, with matching arguments; 0 on success, not 0 if not (a team that
 * is SHMEM_TEAM_INVALID). dest and source are symmetric and do not overlap, unless said otherwise. */

/* barrier_all: all PEs arrive, and everything they have begun is done. sync: all arrive, and only plain stores are
 * seen. In C11 and C++, shmem_sync(team) is shmem_team_sync. */
void shmem_barrier_all(void);
void shmem_sync_all(void);
int shmem_team_sync(shmem_team_t team);

/* Deprecated since 1.5: an active set is the PEs PE_start + i * 2^logPE_stride, PE_size of them. */
void shmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)
    HETMP_SHMEM_OLD_("shmem_quiet and shmem_team_sync");
void shmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_team_sync");

/* source of PE_root (in the team) goes to dest of every PE, its own as well. TYPENAME: RMA. */
int shmem_float_broadcast(shmem_team_t team, float *dest, const float *source, size_t nelems, int PE_root);
int shmem_double_broadcast(shmem_team_t team, double *dest, const double *source, size_t nelems, int PE_root);
int shmem_longdouble_broadcast(shmem_team_t team, long double *dest, const long double *source, size_t nelems,
    int PE_root);
int shmem_char_broadcast(shmem_team_t team, char *dest, const char *source, size_t nelems, int PE_root);
int shmem_schar_broadcast(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems, int
    PE_root);
int shmem_short_broadcast(shmem_team_t team, short *dest, const short *source, size_t nelems, int PE_root);
int shmem_int_broadcast(shmem_team_t team, int *dest, const int *source, size_t nelems, int PE_root);
int shmem_long_broadcast(shmem_team_t team, long *dest, const long *source, size_t nelems, int PE_root);
int shmem_longlong_broadcast(shmem_team_t team, long long *dest, const long long *source, size_t nelems, int
    PE_root);
int shmem_uchar_broadcast(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems,
    int PE_root);
int shmem_ushort_broadcast(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nelems, int PE_root);
int shmem_uint_broadcast(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems, int
    PE_root);
int shmem_ulong_broadcast(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems,
    int PE_root);
int shmem_ulonglong_broadcast(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nelems, int PE_root);
int shmem_int8_broadcast(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems, int PE_root);
int shmem_int16_broadcast(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems, int
    PE_root);
int shmem_int32_broadcast(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems, int
    PE_root);
int shmem_int64_broadcast(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems, int
    PE_root);
int shmem_uint8_broadcast(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems, int
    PE_root);
int shmem_uint16_broadcast(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems, int
    PE_root);
int shmem_uint32_broadcast(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems, int
    PE_root);
int shmem_uint64_broadcast(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems, int
    PE_root);
int shmem_size_broadcast(shmem_team_t team, size_t *dest, const size_t *source, size_t nelems, int PE_root);
int shmem_ptrdiff_broadcast(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int
    PE_root);
int shmem_broadcastmem(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root);

/* The PEs' sources stand one after another in dest; nelems may differ between PEs. TYPENAME: RMA. */
int shmem_float_collect(shmem_team_t team, float *dest, const float *source, size_t nelems);
int shmem_double_collect(shmem_team_t team, double *dest, const double *source, size_t nelems);
int shmem_longdouble_collect(shmem_team_t team, long double *dest, const long double *source, size_t nelems);
int shmem_char_collect(shmem_team_t team, char *dest, const char *source, size_t nelems);
int shmem_schar_collect(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems);
int shmem_short_collect(shmem_team_t team, short *dest, const short *source, size_t nelems);
int shmem_int_collect(shmem_team_t team, int *dest, const int *source, size_t nelems);
int shmem_long_collect(shmem_team_t team, long *dest, const long *source, size_t nelems);
int shmem_longlong_collect(shmem_team_t team, long long *dest, const long long *source, size_t nelems);
int shmem_uchar_collect(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems);
int shmem_ushort_collect(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nelems);
int shmem_uint_collect(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems);
int shmem_ulong_collect(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems);
int shmem_ulonglong_collect(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nelems);
int shmem_int8_collect(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems);
int shmem_int16_collect(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems);
int shmem_int32_collect(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems);
int shmem_int64_collect(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems);
int shmem_uint8_collect(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems);
int shmem_uint16_collect(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems);
int shmem_uint32_collect(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems);
int shmem_uint64_collect(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems);
int shmem_size_collect(shmem_team_t team, size_t *dest, const size_t *source, size_t nelems);
int shmem_ptrdiff_collect(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems);
int shmem_collectmem(shmem_team_t team, void *dest, const void *source, size_t nelems);

/* The same, with nelems the same on every PE. TYPENAME: RMA. */
int shmem_float_fcollect(shmem_team_t team, float *dest, const float *source, size_t nelems);
int shmem_double_fcollect(shmem_team_t team, double *dest, const double *source, size_t nelems);
int shmem_longdouble_fcollect(shmem_team_t team, long double *dest, const long double *source, size_t nelems);
int shmem_char_fcollect(shmem_team_t team, char *dest, const char *source, size_t nelems);
int shmem_schar_fcollect(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems);
int shmem_short_fcollect(shmem_team_t team, short *dest, const short *source, size_t nelems);
int shmem_int_fcollect(shmem_team_t team, int *dest, const int *source, size_t nelems);
int shmem_long_fcollect(shmem_team_t team, long *dest, const long *source, size_t nelems);
int shmem_longlong_fcollect(shmem_team_t team, long long *dest, const long long *source, size_t nelems);
int shmem_uchar_fcollect(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems);
int shmem_ushort_fcollect(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nelems);
int shmem_uint_fcollect(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems);
int shmem_ulong_fcollect(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems);
int shmem_ulonglong_fcollect(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nelems);
int shmem_int8_fcollect(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems);
int shmem_int16_fcollect(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems);
int shmem_int32_fcollect(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems);
int shmem_int64_fcollect(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems);
int shmem_uint8_fcollect(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems);
int shmem_uint16_fcollect(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems);
int shmem_uint32_fcollect(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems);
int shmem_uint64_fcollect(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems);
int shmem_size_fcollect(shmem_team_t team, size_t *dest, const size_t *source, size_t nelems);
int shmem_ptrdiff_fcollect(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems);
int shmem_fcollectmem(shmem_team_t team, void *dest, const void *source, size_t nelems);

/* Block j of nelems elements of PE i's source becomes block i of PE j's dest. TYPENAME: RMA. */
int shmem_float_alltoall(shmem_team_t team, float *dest, const float *source, size_t nelems);
int shmem_double_alltoall(shmem_team_t team, double *dest, const double *source, size_t nelems);
int shmem_longdouble_alltoall(shmem_team_t team, long double *dest, const long double *source, size_t nelems);
int shmem_char_alltoall(shmem_team_t team, char *dest, const char *source, size_t nelems);
int shmem_schar_alltoall(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems);
int shmem_short_alltoall(shmem_team_t team, short *dest, const short *source, size_t nelems);
int shmem_int_alltoall(shmem_team_t team, int *dest, const int *source, size_t nelems);
int shmem_long_alltoall(shmem_team_t team, long *dest, const long *source, size_t nelems);
int shmem_longlong_alltoall(shmem_team_t team, long long *dest, const long long *source, size_t nelems);
int shmem_uchar_alltoall(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems);
int shmem_ushort_alltoall(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nelems);
int shmem_uint_alltoall(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems);
int shmem_ulong_alltoall(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems);
int shmem_ulonglong_alltoall(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nelems);
int shmem_int8_alltoall(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems);
int shmem_int16_alltoall(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems);
int shmem_int32_alltoall(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems);
int shmem_int64_alltoall(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems);
int shmem_uint8_alltoall(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems);
int shmem_uint16_alltoall(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems);
int shmem_uint32_alltoall(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems);
int shmem_uint64_alltoall(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems);
int shmem_size_alltoall(shmem_team_t team, size_t *dest, const size_t *source, size_t nelems);
int shmem_ptrdiff_alltoall(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems);
int shmem_alltoallmem(shmem_team_t team, void *dest, const void *source, size_t nelems);

/* The same; elements are dst apart in dest and sst in source. TYPENAME: RMA. */
int shmem_float_alltoalls(shmem_team_t team, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems);
int shmem_double_alltoalls(shmem_team_t team, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems);
int shmem_longdouble_alltoalls(shmem_team_t team, long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
int shmem_char_alltoalls(shmem_team_t team, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems);
int shmem_schar_alltoalls(shmem_team_t team, signed char *dest, const signed char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
int shmem_short_alltoalls(shmem_team_t team, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems);
int shmem_int_alltoalls(shmem_team_t team, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems);
int shmem_long_alltoalls(shmem_team_t team, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems);
int shmem_longlong_alltoalls(shmem_team_t team, long long *dest, const long long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
int shmem_uchar_alltoalls(shmem_team_t team, unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
int shmem_ushort_alltoalls(shmem_team_t team, unsigned short *dest, const unsigned short *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems);
int shmem_uint_alltoalls(shmem_team_t team, unsigned int *dest, const unsigned int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
int shmem_ulong_alltoalls(shmem_team_t team, unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
int shmem_ulonglong_alltoalls(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
int shmem_int8_alltoalls(shmem_team_t team, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems);
int shmem_int16_alltoalls(shmem_team_t team, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems);
int shmem_int32_alltoalls(shmem_team_t team, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems);
int shmem_int64_alltoalls(shmem_team_t team, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems);
int shmem_uint8_alltoalls(shmem_team_t team, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems);
int shmem_uint16_alltoalls(shmem_team_t team, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems);
int shmem_uint32_alltoalls(shmem_team_t team, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems);
int shmem_uint64_alltoalls(shmem_team_t team, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems);
int shmem_size_alltoalls(shmem_team_t team, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems);
int shmem_ptrdiff_alltoalls(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
int shmem_alltoallsmem(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems);

/* Deprecated since 1.5: the same over active sets. broadcast leaves dest of PE_root alone, and PE_root counts in the
 * active set. */
void shmem_broadcast32(void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int
    logPE_stride, int PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_broadcastmem");
void shmem_broadcast64(void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int
    logPE_stride, int PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_broadcastmem");
void shmem_collect32(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int
    PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_collectmem");
void shmem_collect64(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int
    PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_collectmem");
void shmem_fcollect32(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int
    PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_fcollectmem");
void shmem_fcollect64(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int
    PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_fcollectmem");
void shmem_alltoall32(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int
    PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_alltoallmem");
void shmem_alltoall64(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int
    PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_alltoallmem");
void shmem_alltoalls32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    PE_start, int logPE_stride, int PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_alltoallsmem");
void shmem_alltoalls64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int
    PE_start, int logPE_stride, int PE_size, long *pSync) HETMP_SHMEM_OLD_("shmem_alltoallsmem");

/* Element by element over all PEs: dest gets the result on each. dest may be source. Sums and products of real
 * numbers are the same on every PE. TYPENAME: bits for and, or, xor; order for max, min; arithmetic for sum, prod. */
int shmem_short_and_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce);
int shmem_int_and_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
int shmem_long_and_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
int shmem_longlong_and_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce);
int shmem_uchar_and_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nreduce);
int shmem_ushort_and_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nreduce);
int shmem_uint_and_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce);
int shmem_ulong_and_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nreduce);
int shmem_ulonglong_and_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nreduce);
int shmem_int8_and_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce);
int shmem_int16_and_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce);
int shmem_int32_and_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce);
int shmem_int64_and_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce);
int shmem_uint8_and_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce);
int shmem_uint16_and_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce);
int shmem_uint32_and_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce);
int shmem_uint64_and_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce);
int shmem_size_and_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce);
int shmem_short_or_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce);
int shmem_int_or_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
int shmem_long_or_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
int shmem_longlong_or_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce);
int shmem_uchar_or_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nreduce);
int shmem_ushort_or_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nreduce);
int shmem_uint_or_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce);
int shmem_ulong_or_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nreduce);
int shmem_ulonglong_or_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nreduce);
int shmem_int8_or_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce);
int shmem_int16_or_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce);
int shmem_int32_or_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce);
int shmem_int64_or_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce);
int shmem_uint8_or_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce);
int shmem_uint16_or_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce);
int shmem_uint32_or_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce);
int shmem_uint64_or_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce);
int shmem_size_or_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce);
int shmem_short_xor_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce);
int shmem_int_xor_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
int shmem_long_xor_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
int shmem_longlong_xor_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce);
int shmem_uchar_xor_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nreduce);
int shmem_ushort_xor_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nreduce);
int shmem_uint_xor_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce);
int shmem_ulong_xor_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nreduce);
int shmem_ulonglong_xor_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nreduce);
int shmem_int8_xor_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce);
int shmem_int16_xor_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce);
int shmem_int32_xor_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce);
int shmem_int64_xor_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce);
int shmem_uint8_xor_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce);
int shmem_uint16_xor_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce);
int shmem_uint32_xor_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce);
int shmem_uint64_xor_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce);
int shmem_size_xor_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce);
int shmem_float_max_reduce(shmem_team_t team, float *dest, const float *source, size_t nreduce);
int shmem_double_max_reduce(shmem_team_t team, double *dest, const double *source, size_t nreduce);
int shmem_longdouble_max_reduce(shmem_team_t team, long double *dest, const long double *source, size_t
    nreduce);
int shmem_char_max_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce);
int shmem_schar_max_reduce(shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce);
int shmem_short_max_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce);
int shmem_int_max_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
int shmem_long_max_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
int shmem_longlong_max_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce);
int shmem_uchar_max_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nreduce);
int shmem_ushort_max_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nreduce);
int shmem_uint_max_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce);
int shmem_ulong_max_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nreduce);
int shmem_ulonglong_max_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nreduce);
int shmem_int8_max_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce);
int shmem_int16_max_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce);
int shmem_int32_max_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce);
int shmem_int64_max_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce);
int shmem_uint8_max_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce);
int shmem_uint16_max_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce);
int shmem_uint32_max_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce);
int shmem_uint64_max_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce);
int shmem_size_max_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce);
int shmem_ptrdiff_max_reduce(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nreduce);
int shmem_float_min_reduce(shmem_team_t team, float *dest, const float *source, size_t nreduce);
int shmem_double_min_reduce(shmem_team_t team, double *dest, const double *source, size_t nreduce);
int shmem_longdouble_min_reduce(shmem_team_t team, long double *dest, const long double *source, size_t
    nreduce);
int shmem_char_min_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce);
int shmem_schar_min_reduce(shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce);
int shmem_short_min_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce);
int shmem_int_min_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
int shmem_long_min_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
int shmem_longlong_min_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce);
int shmem_uchar_min_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nreduce);
int shmem_ushort_min_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nreduce);
int shmem_uint_min_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce);
int shmem_ulong_min_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nreduce);
int shmem_ulonglong_min_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nreduce);
int shmem_int8_min_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce);
int shmem_int16_min_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce);
int shmem_int32_min_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce);
int shmem_int64_min_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce);
int shmem_uint8_min_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce);
int shmem_uint16_min_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce);
int shmem_uint32_min_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce);
int shmem_uint64_min_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce);
int shmem_size_min_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce);
int shmem_ptrdiff_min_reduce(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nreduce);
int shmem_float_sum_reduce(shmem_team_t team, float *dest, const float *source, size_t nreduce);
int shmem_double_sum_reduce(shmem_team_t team, double *dest, const double *source, size_t nreduce);
int shmem_longdouble_sum_reduce(shmem_team_t team, long double *dest, const long double *source, size_t
    nreduce);
int shmem_char_sum_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce);
int shmem_schar_sum_reduce(shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce);
int shmem_short_sum_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce);
int shmem_int_sum_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
int shmem_long_sum_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
int shmem_longlong_sum_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce);
int shmem_uchar_sum_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nreduce);
int shmem_ushort_sum_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nreduce);
int shmem_uint_sum_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce);
int shmem_ulong_sum_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nreduce);
int shmem_ulonglong_sum_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nreduce);
int shmem_int8_sum_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce);
int shmem_int16_sum_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce);
int shmem_int32_sum_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce);
int shmem_int64_sum_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce);
int shmem_uint8_sum_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce);
int shmem_uint16_sum_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce);
int shmem_uint32_sum_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce);
int shmem_uint64_sum_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce);
int shmem_size_sum_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce);
int shmem_ptrdiff_sum_reduce(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nreduce);
int shmem_complexd_sum_reduce(shmem_team_t team, HETMP_SHMEM_COMPLEX_DOUBLE_ *dest, const
    HETMP_SHMEM_COMPLEX_DOUBLE_ *source, size_t nreduce);
int shmem_complexf_sum_reduce(shmem_team_t team, HETMP_SHMEM_COMPLEX_FLOAT_ *dest, const
    HETMP_SHMEM_COMPLEX_FLOAT_ *source, size_t nreduce);
int shmem_float_prod_reduce(shmem_team_t team, float *dest, const float *source, size_t nreduce);
int shmem_double_prod_reduce(shmem_team_t team, double *dest, const double *source, size_t nreduce);
int shmem_longdouble_prod_reduce(shmem_team_t team, long double *dest, const long double *source, size_t
    nreduce);
int shmem_char_prod_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce);
int shmem_schar_prod_reduce(shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce);
int shmem_short_prod_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce);
int shmem_int_prod_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
int shmem_long_prod_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
int shmem_longlong_prod_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce);
int shmem_uchar_prod_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nreduce);
int shmem_ushort_prod_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nreduce);
int shmem_uint_prod_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce);
int shmem_ulong_prod_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nreduce);
int shmem_ulonglong_prod_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nreduce);
int shmem_int8_prod_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce);
int shmem_int16_prod_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce);
int shmem_int32_prod_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce);
int shmem_int64_prod_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce);
int shmem_uint8_prod_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce);
int shmem_uint16_prod_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce);
int shmem_uint32_prod_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce);
int shmem_uint64_prod_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce);
int shmem_size_prod_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce);
int shmem_ptrdiff_prod_reduce(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nreduce);
int shmem_complexd_prod_reduce(shmem_team_t team, HETMP_SHMEM_COMPLEX_DOUBLE_ *dest, const
    HETMP_SHMEM_COMPLEX_DOUBLE_ *source, size_t nreduce);
int shmem_complexf_prod_reduce(shmem_team_t team, HETMP_SHMEM_COMPLEX_FLOAT_ *dest, const
    HETMP_SHMEM_COMPLEX_FLOAT_ *source, size_t nreduce);

/* Sums over the PEs before this one in the team, with its own (inscan) or without (exscan: 0 on PE 0), since 1.6.
 * TYPENAME: arithmetic. */
int shmem_float_sum_inscan(shmem_team_t team, float *dest, const float *source, size_t nelems);
int shmem_double_sum_inscan(shmem_team_t team, double *dest, const double *source, size_t nelems);
int shmem_longdouble_sum_inscan(shmem_team_t team, long double *dest, const long double *source, size_t
    nelems);
int shmem_char_sum_inscan(shmem_team_t team, char *dest, const char *source, size_t nelems);
int shmem_schar_sum_inscan(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems);
int shmem_short_sum_inscan(shmem_team_t team, short *dest, const short *source, size_t nelems);
int shmem_int_sum_inscan(shmem_team_t team, int *dest, const int *source, size_t nelems);
int shmem_long_sum_inscan(shmem_team_t team, long *dest, const long *source, size_t nelems);
int shmem_longlong_sum_inscan(shmem_team_t team, long long *dest, const long long *source, size_t nelems);
int shmem_uchar_sum_inscan(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nelems);
int shmem_ushort_sum_inscan(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nelems);
int shmem_uint_sum_inscan(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems);
int shmem_ulong_sum_inscan(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nelems);
int shmem_ulonglong_sum_inscan(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nelems);
int shmem_int8_sum_inscan(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems);
int shmem_int16_sum_inscan(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems);
int shmem_int32_sum_inscan(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems);
int shmem_int64_sum_inscan(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems);
int shmem_uint8_sum_inscan(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems);
int shmem_uint16_sum_inscan(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems);
int shmem_uint32_sum_inscan(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems);
int shmem_uint64_sum_inscan(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems);
int shmem_size_sum_inscan(shmem_team_t team, size_t *dest, const size_t *source, size_t nelems);
int shmem_ptrdiff_sum_inscan(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems);
int shmem_complexd_sum_inscan(shmem_team_t team, HETMP_SHMEM_COMPLEX_DOUBLE_ *dest, const
    HETMP_SHMEM_COMPLEX_DOUBLE_ *source, size_t nelems);
int shmem_complexf_sum_inscan(shmem_team_t team, HETMP_SHMEM_COMPLEX_FLOAT_ *dest, const
    HETMP_SHMEM_COMPLEX_FLOAT_ *source, size_t nelems);
int shmem_float_sum_exscan(shmem_team_t team, float *dest, const float *source, size_t nelems);
int shmem_double_sum_exscan(shmem_team_t team, double *dest, const double *source, size_t nelems);
int shmem_longdouble_sum_exscan(shmem_team_t team, long double *dest, const long double *source, size_t
    nelems);
int shmem_char_sum_exscan(shmem_team_t team, char *dest, const char *source, size_t nelems);
int shmem_schar_sum_exscan(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems);
int shmem_short_sum_exscan(shmem_team_t team, short *dest, const short *source, size_t nelems);
int shmem_int_sum_exscan(shmem_team_t team, int *dest, const int *source, size_t nelems);
int shmem_long_sum_exscan(shmem_team_t team, long *dest, const long *source, size_t nelems);
int shmem_longlong_sum_exscan(shmem_team_t team, long long *dest, const long long *source, size_t nelems);
int shmem_uchar_sum_exscan(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t
    nelems);
int shmem_ushort_sum_exscan(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t
    nelems);
int shmem_uint_sum_exscan(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems);
int shmem_ulong_sum_exscan(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t
    nelems);
int shmem_ulonglong_sum_exscan(shmem_team_t team, unsigned long long *dest, const unsigned long long *source,
    size_t nelems);
int shmem_int8_sum_exscan(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems);
int shmem_int16_sum_exscan(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems);
int shmem_int32_sum_exscan(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems);
int shmem_int64_sum_exscan(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems);
int shmem_uint8_sum_exscan(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems);
int shmem_uint16_sum_exscan(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems);
int shmem_uint32_sum_exscan(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems);
int shmem_uint64_sum_exscan(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems);
int shmem_size_sum_exscan(shmem_team_t team, size_t *dest, const size_t *source, size_t nelems);
int shmem_ptrdiff_sum_exscan(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems);
int shmem_complexd_sum_exscan(shmem_team_t team, HETMP_SHMEM_COMPLEX_DOUBLE_ *dest, const
    HETMP_SHMEM_COMPLEX_DOUBLE_ *source, size_t nelems);
int shmem_complexf_sum_exscan(shmem_team_t team, HETMP_SHMEM_COMPLEX_FLOAT_ *dest, const
    HETMP_SHMEM_COMPLEX_FLOAT_ *source, size_t nelems);

/* Deprecated since 1.5: reductions over active sets. TYPENAME: short int long longlong; for max, min, sum and prod also
 * float double longdouble; for sum and prod also complexf complexd. */
void shmem_short_and_to_all(short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, short *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_short_and_reduce");
void shmem_int_and_to_all(int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, int *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_int_and_reduce");
void shmem_long_and_to_all(long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_long_and_reduce");
void shmem_longlong_and_to_all(long long *dest, const long long *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_longlong_and_reduce");
void shmem_short_or_to_all(short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, short *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_short_or_reduce");
void shmem_int_or_to_all(int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, int *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_int_or_reduce");
void shmem_long_or_to_all(long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_long_or_reduce");
void shmem_longlong_or_to_all(long long *dest, const long long *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_longlong_or_reduce");
void shmem_short_xor_to_all(short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, short *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_short_xor_reduce");
void shmem_int_xor_to_all(int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, int *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_int_xor_reduce");
void shmem_long_xor_to_all(long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_long_xor_reduce");
void shmem_longlong_xor_to_all(long long *dest, const long long *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_longlong_xor_reduce");
void shmem_float_max_to_all(float *dest, const float *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, float *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_float_max_reduce");
void shmem_double_max_to_all(double *dest, const double *source, int nreduce, int PE_start, int logPE_stride,
    int PE_size, double *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_double_max_reduce");
void shmem_longdouble_max_to_all(long double *dest, const long double *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long double *pWrk, long *pSync)
    HETMP_SHMEM_OLD_("shmem_longdouble_max_reduce");
void shmem_short_max_to_all(short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, short *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_short_max_reduce");
void shmem_int_max_to_all(int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, int *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_int_max_reduce");
void shmem_long_max_to_all(long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_long_max_reduce");
void shmem_longlong_max_to_all(long long *dest, const long long *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_longlong_max_reduce");
void shmem_float_min_to_all(float *dest, const float *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, float *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_float_min_reduce");
void shmem_double_min_to_all(double *dest, const double *source, int nreduce, int PE_start, int logPE_stride,
    int PE_size, double *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_double_min_reduce");
void shmem_longdouble_min_to_all(long double *dest, const long double *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long double *pWrk, long *pSync)
    HETMP_SHMEM_OLD_("shmem_longdouble_min_reduce");
void shmem_short_min_to_all(short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, short *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_short_min_reduce");
void shmem_int_min_to_all(int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, int *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_int_min_reduce");
void shmem_long_min_to_all(long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_long_min_reduce");
void shmem_longlong_min_to_all(long long *dest, const long long *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_longlong_min_reduce");
void shmem_float_sum_to_all(float *dest, const float *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, float *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_float_sum_reduce");
void shmem_double_sum_to_all(double *dest, const double *source, int nreduce, int PE_start, int logPE_stride,
    int PE_size, double *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_double_sum_reduce");
void shmem_longdouble_sum_to_all(long double *dest, const long double *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long double *pWrk, long *pSync)
    HETMP_SHMEM_OLD_("shmem_longdouble_sum_reduce");
void shmem_short_sum_to_all(short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, short *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_short_sum_reduce");
void shmem_int_sum_to_all(int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, int *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_int_sum_reduce");
void shmem_long_sum_to_all(long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_long_sum_reduce");
void shmem_longlong_sum_to_all(long long *dest, const long long *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_longlong_sum_reduce");
void shmem_complexd_sum_to_all(HETMP_SHMEM_COMPLEX_DOUBLE_ *dest, const HETMP_SHMEM_COMPLEX_DOUBLE_ *source,
    int nreduce, int PE_start, int logPE_stride, int PE_size, HETMP_SHMEM_COMPLEX_DOUBLE_ *pWrk, long *pSync)
    HETMP_SHMEM_OLD_("shmem_complexd_sum_reduce");
void shmem_complexf_sum_to_all(HETMP_SHMEM_COMPLEX_FLOAT_ *dest, const HETMP_SHMEM_COMPLEX_FLOAT_ *source, int
    nreduce, int PE_start, int logPE_stride, int PE_size, HETMP_SHMEM_COMPLEX_FLOAT_ *pWrk, long *pSync)
    HETMP_SHMEM_OLD_("shmem_complexf_sum_reduce");
void shmem_float_prod_to_all(float *dest, const float *source, int nreduce, int PE_start, int logPE_stride,
    int PE_size, float *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_float_prod_reduce");
void shmem_double_prod_to_all(double *dest, const double *source, int nreduce, int PE_start, int logPE_stride,
    int PE_size, double *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_double_prod_reduce");
void shmem_longdouble_prod_to_all(long double *dest, const long double *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long double *pWrk, long *pSync)
    HETMP_SHMEM_OLD_("shmem_longdouble_prod_reduce");
void shmem_short_prod_to_all(short *dest, const short *source, int nreduce, int PE_start, int logPE_stride,
    int PE_size, short *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_short_prod_reduce");
void shmem_int_prod_to_all(int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, int *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_int_prod_reduce");
void shmem_long_prod_to_all(long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_long_prod_reduce");
void shmem_longlong_prod_to_all(long long *dest, const long long *source, int nreduce, int PE_start, int
    logPE_stride, int PE_size, long long *pWrk, long *pSync) HETMP_SHMEM_OLD_("shmem_longlong_prod_reduce");
void shmem_complexd_prod_to_all(HETMP_SHMEM_COMPLEX_DOUBLE_ *dest, const HETMP_SHMEM_COMPLEX_DOUBLE_ *source,
    int nreduce, int PE_start, int logPE_stride, int PE_size, HETMP_SHMEM_COMPLEX_DOUBLE_ *pWrk, long *pSync)
    HETMP_SHMEM_OLD_("shmem_complexd_prod_reduce");
void shmem_complexf_prod_to_all(HETMP_SHMEM_COMPLEX_FLOAT_ *dest, const HETMP_SHMEM_COMPLEX_FLOAT_ *source,
    int nreduce, int PE_start, int logPE_stride, int PE_size, HETMP_SHMEM_COMPLEX_FLOAT_ *pWrk, long *pSync)
    HETMP_SHMEM_OLD_("shmem_complexf_prod_reduce");

/* ---- Waiting for one's own memory (section 9.10) ----
 * ivar is symmetric and changed by atomics, p or signals of other PEs. wait returns when `*ivar cmp cmp_value` is true;
 * test says whether it does (1 or 0). all, any, some: over ivars[0 .. nelems - 1] without those whose status is not 0
 * (status may be null). any returns an index, SIZE_MAX where there is none; some stores the indices that hold and
 * returns how many. vector: a value of its own for each. wait_until_all and test_all hold (1) for an empty set.
 * TYPENAME: AMO; for wait_until and test also short and ushort (deprecated since 1.5). Pointers to volatile are taken,
 * as by other implementations; here and by locks. */
void shmem_short_wait_until(volatile short *ivar, int cmp, short cmp_value);
void shmem_int_wait_until(volatile int *ivar, int cmp, int cmp_value);
void shmem_long_wait_until(volatile long *ivar, int cmp, long cmp_value);
void shmem_longlong_wait_until(volatile long long *ivar, int cmp, long long cmp_value);
void shmem_ushort_wait_until(volatile unsigned short *ivar, int cmp, unsigned short cmp_value);
void shmem_uint_wait_until(volatile unsigned int *ivar, int cmp, unsigned int cmp_value);
void shmem_ulong_wait_until(volatile unsigned long *ivar, int cmp, unsigned long cmp_value);
void shmem_ulonglong_wait_until(volatile unsigned long long *ivar, int cmp, unsigned long long cmp_value);
void shmem_int32_wait_until(volatile int32_t *ivar, int cmp, int32_t cmp_value);
void shmem_int64_wait_until(volatile int64_t *ivar, int cmp, int64_t cmp_value);
void shmem_uint32_wait_until(volatile uint32_t *ivar, int cmp, uint32_t cmp_value);
void shmem_uint64_wait_until(volatile uint64_t *ivar, int cmp, uint64_t cmp_value);
void shmem_size_wait_until(volatile size_t *ivar, int cmp, size_t cmp_value);
void shmem_ptrdiff_wait_until(volatile ptrdiff_t *ivar, int cmp, ptrdiff_t cmp_value);
void shmem_int_wait_until_all(volatile int *ivars, size_t nelems, const int *status, int cmp, int cmp_value);
void shmem_long_wait_until_all(volatile long *ivars, size_t nelems, const int *status, int cmp, long
    cmp_value);
void shmem_longlong_wait_until_all(volatile long long *ivars, size_t nelems, const int *status, int cmp, long
    long cmp_value);
void shmem_uint_wait_until_all(volatile unsigned int *ivars, size_t nelems, const int *status, int cmp,
    unsigned int cmp_value);
void shmem_ulong_wait_until_all(volatile unsigned long *ivars, size_t nelems, const int *status, int cmp,
    unsigned long cmp_value);
void shmem_ulonglong_wait_until_all(volatile unsigned long long *ivars, size_t nelems, const int *status, int
    cmp, unsigned long long cmp_value);
void shmem_int32_wait_until_all(volatile int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t
    cmp_value);
void shmem_int64_wait_until_all(volatile int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t
    cmp_value);
void shmem_uint32_wait_until_all(volatile uint32_t *ivars, size_t nelems, const int *status, int cmp, uint32_t
    cmp_value);
void shmem_uint64_wait_until_all(volatile uint64_t *ivars, size_t nelems, const int *status, int cmp, uint64_t
    cmp_value);
void shmem_size_wait_until_all(volatile size_t *ivars, size_t nelems, const int *status, int cmp, size_t
    cmp_value);
void shmem_ptrdiff_wait_until_all(volatile ptrdiff_t *ivars, size_t nelems, const int *status, int cmp,
    ptrdiff_t cmp_value);
size_t shmem_int_wait_until_any(volatile int *ivars, size_t nelems, const int *status, int cmp, int
    cmp_value);
size_t shmem_long_wait_until_any(volatile long *ivars, size_t nelems, const int *status, int cmp, long
    cmp_value);
size_t shmem_longlong_wait_until_any(volatile long long *ivars, size_t nelems, const int *status, int cmp,
    long long cmp_value);
size_t shmem_uint_wait_until_any(volatile unsigned int *ivars, size_t nelems, const int *status, int cmp,
    unsigned int cmp_value);
size_t shmem_ulong_wait_until_any(volatile unsigned long *ivars, size_t nelems, const int *status, int cmp,
    unsigned long cmp_value);
size_t shmem_ulonglong_wait_until_any(volatile unsigned long long *ivars, size_t nelems, const int *status,
    int cmp, unsigned long long cmp_value);
size_t shmem_int32_wait_until_any(volatile int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t
    cmp_value);
size_t shmem_int64_wait_until_any(volatile int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t
    cmp_value);
size_t shmem_uint32_wait_until_any(volatile uint32_t *ivars, size_t nelems, const int *status, int cmp,
    uint32_t cmp_value);
size_t shmem_uint64_wait_until_any(volatile uint64_t *ivars, size_t nelems, const int *status, int cmp,
    uint64_t cmp_value);
size_t shmem_size_wait_until_any(volatile size_t *ivars, size_t nelems, const int *status, int cmp, size_t
    cmp_value);
size_t shmem_ptrdiff_wait_until_any(volatile ptrdiff_t *ivars, size_t nelems, const int *status, int cmp,
    ptrdiff_t cmp_value);
size_t shmem_int_wait_until_some(volatile int *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, int cmp_value);
size_t shmem_long_wait_until_some(volatile long *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, long cmp_value);
size_t shmem_longlong_wait_until_some(volatile long long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, long long cmp_value);
size_t shmem_uint_wait_until_some(volatile unsigned int *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, unsigned int cmp_value);
size_t shmem_ulong_wait_until_some(volatile unsigned long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, unsigned long cmp_value);
size_t shmem_ulonglong_wait_until_some(volatile unsigned long long *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, unsigned long long cmp_value);
size_t shmem_int32_wait_until_some(volatile int32_t *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, int32_t cmp_value);
size_t shmem_int64_wait_until_some(volatile int64_t *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, int64_t cmp_value);
size_t shmem_uint32_wait_until_some(volatile uint32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, uint32_t cmp_value);
size_t shmem_uint64_wait_until_some(volatile uint64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, uint64_t cmp_value);
size_t shmem_size_wait_until_some(volatile size_t *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, size_t cmp_value);
size_t shmem_ptrdiff_wait_until_some(volatile ptrdiff_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, ptrdiff_t cmp_value);
void shmem_int_wait_until_all_vector(volatile int *ivars, size_t nelems, const int *status, int cmp, const int
    *cmp_values);
void shmem_long_wait_until_all_vector(volatile long *ivars, size_t nelems, const int *status, int cmp, const
    long *cmp_values);
void shmem_longlong_wait_until_all_vector(volatile long long *ivars, size_t nelems, const int *status, int
    cmp, const long long *cmp_values);
void shmem_uint_wait_until_all_vector(volatile unsigned int *ivars, size_t nelems, const int *status, int cmp,
    const unsigned int *cmp_values);
void shmem_ulong_wait_until_all_vector(volatile unsigned long *ivars, size_t nelems, const int *status, int
    cmp, const unsigned long *cmp_values);
void shmem_ulonglong_wait_until_all_vector(volatile unsigned long long *ivars, size_t nelems, const int
    *status, int cmp, const unsigned long long *cmp_values);
void shmem_int32_wait_until_all_vector(volatile int32_t *ivars, size_t nelems, const int *status, int cmp,
    const int32_t *cmp_values);
void shmem_int64_wait_until_all_vector(volatile int64_t *ivars, size_t nelems, const int *status, int cmp,
    const int64_t *cmp_values);
void shmem_uint32_wait_until_all_vector(volatile uint32_t *ivars, size_t nelems, const int *status, int cmp,
    const uint32_t *cmp_values);
void shmem_uint64_wait_until_all_vector(volatile uint64_t *ivars, size_t nelems, const int *status, int cmp,
    const uint64_t *cmp_values);
void shmem_size_wait_until_all_vector(volatile size_t *ivars, size_t nelems, const int *status, int cmp, const
    size_t *cmp_values);
void shmem_ptrdiff_wait_until_all_vector(volatile ptrdiff_t *ivars, size_t nelems, const int *status, int cmp,
    const ptrdiff_t *cmp_values);
size_t shmem_int_wait_until_any_vector(volatile int *ivars, size_t nelems, const int *status, int cmp, const
    int *cmp_values);
size_t shmem_long_wait_until_any_vector(volatile long *ivars, size_t nelems, const int *status, int cmp, const
    long *cmp_values);
size_t shmem_longlong_wait_until_any_vector(volatile long long *ivars, size_t nelems, const int *status, int
    cmp, const long long *cmp_values);
size_t shmem_uint_wait_until_any_vector(volatile unsigned int *ivars, size_t nelems, const int *status, int
    cmp, const unsigned int *cmp_values);
size_t shmem_ulong_wait_until_any_vector(volatile unsigned long *ivars, size_t nelems, const int *status, int
    cmp, const unsigned long *cmp_values);
size_t shmem_ulonglong_wait_until_any_vector(volatile unsigned long long *ivars, size_t nelems, const int
    *status, int cmp, const unsigned long long *cmp_values);
size_t shmem_int32_wait_until_any_vector(volatile int32_t *ivars, size_t nelems, const int *status, int cmp,
    const int32_t *cmp_values);
size_t shmem_int64_wait_until_any_vector(volatile int64_t *ivars, size_t nelems, const int *status, int cmp,
    const int64_t *cmp_values);
size_t shmem_uint32_wait_until_any_vector(volatile uint32_t *ivars, size_t nelems, const int *status, int cmp,
    const uint32_t *cmp_values);
size_t shmem_uint64_wait_until_any_vector(volatile uint64_t *ivars, size_t nelems, const int *status, int cmp,
    const uint64_t *cmp_values);
size_t shmem_size_wait_until_any_vector(volatile size_t *ivars, size_t nelems, const int *status, int cmp,
    const size_t *cmp_values);
size_t shmem_ptrdiff_wait_until_any_vector(volatile ptrdiff_t *ivars, size_t nelems, const int *status, int
    cmp, const ptrdiff_t *cmp_values);
size_t shmem_int_wait_until_some_vector(volatile int *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int *cmp_values);
size_t shmem_long_wait_until_some_vector(volatile long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const long *cmp_values);
size_t shmem_longlong_wait_until_some_vector(volatile long long *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const long long *cmp_values);
size_t shmem_uint_wait_until_some_vector(volatile unsigned int *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const unsigned int *cmp_values);
size_t shmem_ulong_wait_until_some_vector(volatile unsigned long *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const unsigned long *cmp_values);
size_t shmem_ulonglong_wait_until_some_vector(volatile unsigned long long *ivars, size_t nelems, size_t
    *indices, const int *status, int cmp, const unsigned long long *cmp_values);
size_t shmem_int32_wait_until_some_vector(volatile int32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int32_t *cmp_values);
size_t shmem_int64_wait_until_some_vector(volatile int64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int64_t *cmp_values);
size_t shmem_uint32_wait_until_some_vector(volatile uint32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const uint32_t *cmp_values);
size_t shmem_uint64_wait_until_some_vector(volatile uint64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const uint64_t *cmp_values);
size_t shmem_size_wait_until_some_vector(volatile size_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const size_t *cmp_values);
size_t shmem_ptrdiff_wait_until_some_vector(volatile ptrdiff_t *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const ptrdiff_t *cmp_values);
uint64_t shmem_signal_wait_until(volatile uint64_t *sig_addr, int cmp, uint64_t cmp_value);

int shmem_short_test(volatile short *ivar, int cmp, short cmp_value);
int shmem_int_test(volatile int *ivar, int cmp, int cmp_value);
int shmem_long_test(volatile long *ivar, int cmp, long cmp_value);
int shmem_longlong_test(volatile long long *ivar, int cmp, long long cmp_value);
int shmem_ushort_test(volatile unsigned short *ivar, int cmp, unsigned short cmp_value);
int shmem_uint_test(volatile unsigned int *ivar, int cmp, unsigned int cmp_value);
int shmem_ulong_test(volatile unsigned long *ivar, int cmp, unsigned long cmp_value);
int shmem_ulonglong_test(volatile unsigned long long *ivar, int cmp, unsigned long long cmp_value);
int shmem_int32_test(volatile int32_t *ivar, int cmp, int32_t cmp_value);
int shmem_int64_test(volatile int64_t *ivar, int cmp, int64_t cmp_value);
int shmem_uint32_test(volatile uint32_t *ivar, int cmp, uint32_t cmp_value);
int shmem_uint64_test(volatile uint64_t *ivar, int cmp, uint64_t cmp_value);
int shmem_size_test(volatile size_t *ivar, int cmp, size_t cmp_value);
int shmem_ptrdiff_test(volatile ptrdiff_t *ivar, int cmp, ptrdiff_t cmp_value);
int shmem_int_test_all(volatile int *ivars, size_t nelems, const int *status, int cmp, int cmp_value);
int shmem_long_test_all(volatile long *ivars, size_t nelems, const int *status, int cmp, long cmp_value);
int shmem_longlong_test_all(volatile long long *ivars, size_t nelems, const int *status, int cmp, long long
    cmp_value);
int shmem_uint_test_all(volatile unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int
    cmp_value);
int shmem_ulong_test_all(volatile unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned
    long cmp_value);
int shmem_ulonglong_test_all(volatile unsigned long long *ivars, size_t nelems, const int *status, int cmp,
    unsigned long long cmp_value);
int shmem_int32_test_all(volatile int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t
    cmp_value);
int shmem_int64_test_all(volatile int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t
    cmp_value);
int shmem_uint32_test_all(volatile uint32_t *ivars, size_t nelems, const int *status, int cmp, uint32_t
    cmp_value);
int shmem_uint64_test_all(volatile uint64_t *ivars, size_t nelems, const int *status, int cmp, uint64_t
    cmp_value);
int shmem_size_test_all(volatile size_t *ivars, size_t nelems, const int *status, int cmp, size_t cmp_value);
int shmem_ptrdiff_test_all(volatile ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, ptrdiff_t
    cmp_value);
size_t shmem_int_test_any(volatile int *ivars, size_t nelems, const int *status, int cmp, int cmp_value);
size_t shmem_long_test_any(volatile long *ivars, size_t nelems, const int *status, int cmp, long cmp_value);
size_t shmem_longlong_test_any(volatile long long *ivars, size_t nelems, const int *status, int cmp, long long
    cmp_value);
size_t shmem_uint_test_any(volatile unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned
    int cmp_value);
size_t shmem_ulong_test_any(volatile unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned
    long cmp_value);
size_t shmem_ulonglong_test_any(volatile unsigned long long *ivars, size_t nelems, const int *status, int cmp,
    unsigned long long cmp_value);
size_t shmem_int32_test_any(volatile int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t
    cmp_value);
size_t shmem_int64_test_any(volatile int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t
    cmp_value);
size_t shmem_uint32_test_any(volatile uint32_t *ivars, size_t nelems, const int *status, int cmp, uint32_t
    cmp_value);
size_t shmem_uint64_test_any(volatile uint64_t *ivars, size_t nelems, const int *status, int cmp, uint64_t
    cmp_value);
size_t shmem_size_test_any(volatile size_t *ivars, size_t nelems, const int *status, int cmp, size_t
    cmp_value);
size_t shmem_ptrdiff_test_any(volatile ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, ptrdiff_t
    cmp_value);
size_t shmem_int_test_some(volatile int *ivars, size_t nelems, size_t *indices, const int *status, int cmp,
    int cmp_value);
size_t shmem_long_test_some(volatile long *ivars, size_t nelems, size_t *indices, const int *status, int cmp,
    long cmp_value);
size_t shmem_longlong_test_some(volatile long long *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, long long cmp_value);
size_t shmem_uint_test_some(volatile unsigned int *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, unsigned int cmp_value);
size_t shmem_ulong_test_some(volatile unsigned long *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, unsigned long cmp_value);
size_t shmem_ulonglong_test_some(volatile unsigned long long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, unsigned long long cmp_value);
size_t shmem_int32_test_some(volatile int32_t *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, int32_t cmp_value);
size_t shmem_int64_test_some(volatile int64_t *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, int64_t cmp_value);
size_t shmem_uint32_test_some(volatile uint32_t *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, uint32_t cmp_value);
size_t shmem_uint64_test_some(volatile uint64_t *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, uint64_t cmp_value);
size_t shmem_size_test_some(volatile size_t *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, size_t cmp_value);
size_t shmem_ptrdiff_test_some(volatile ptrdiff_t *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, ptrdiff_t cmp_value);
int shmem_int_test_all_vector(volatile int *ivars, size_t nelems, const int *status, int cmp, const int
    *cmp_values);
int shmem_long_test_all_vector(volatile long *ivars, size_t nelems, const int *status, int cmp, const long
    *cmp_values);
int shmem_longlong_test_all_vector(volatile long long *ivars, size_t nelems, const int *status, int cmp, const
    long long *cmp_values);
int shmem_uint_test_all_vector(volatile unsigned int *ivars, size_t nelems, const int *status, int cmp, const
    unsigned int *cmp_values);
int shmem_ulong_test_all_vector(volatile unsigned long *ivars, size_t nelems, const int *status, int cmp,
    const unsigned long *cmp_values);
int shmem_ulonglong_test_all_vector(volatile unsigned long long *ivars, size_t nelems, const int *status, int
    cmp, const unsigned long long *cmp_values);
int shmem_int32_test_all_vector(volatile int32_t *ivars, size_t nelems, const int *status, int cmp, const
    int32_t *cmp_values);
int shmem_int64_test_all_vector(volatile int64_t *ivars, size_t nelems, const int *status, int cmp, const
    int64_t *cmp_values);
int shmem_uint32_test_all_vector(volatile uint32_t *ivars, size_t nelems, const int *status, int cmp, const
    uint32_t *cmp_values);
int shmem_uint64_test_all_vector(volatile uint64_t *ivars, size_t nelems, const int *status, int cmp, const
    uint64_t *cmp_values);
int shmem_size_test_all_vector(volatile size_t *ivars, size_t nelems, const int *status, int cmp, const size_t
    *cmp_values);
int shmem_ptrdiff_test_all_vector(volatile ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, const
    ptrdiff_t *cmp_values);
size_t shmem_int_test_any_vector(volatile int *ivars, size_t nelems, const int *status, int cmp, const int
    *cmp_values);
size_t shmem_long_test_any_vector(volatile long *ivars, size_t nelems, const int *status, int cmp, const long
    *cmp_values);
size_t shmem_longlong_test_any_vector(volatile long long *ivars, size_t nelems, const int *status, int cmp,
    const long long *cmp_values);
size_t shmem_uint_test_any_vector(volatile unsigned int *ivars, size_t nelems, const int *status, int cmp,
    const unsigned int *cmp_values);
size_t shmem_ulong_test_any_vector(volatile unsigned long *ivars, size_t nelems, const int *status, int cmp,
    const unsigned long *cmp_values);
size_t shmem_ulonglong_test_any_vector(volatile unsigned long long *ivars, size_t nelems, const int *status,
    int cmp, const unsigned long long *cmp_values);
size_t shmem_int32_test_any_vector(volatile int32_t *ivars, size_t nelems, const int *status, int cmp, const
    int32_t *cmp_values);
size_t shmem_int64_test_any_vector(volatile int64_t *ivars, size_t nelems, const int *status, int cmp, const
    int64_t *cmp_values);
size_t shmem_uint32_test_any_vector(volatile uint32_t *ivars, size_t nelems, const int *status, int cmp, const
    uint32_t *cmp_values);
size_t shmem_uint64_test_any_vector(volatile uint64_t *ivars, size_t nelems, const int *status, int cmp, const
    uint64_t *cmp_values);
size_t shmem_size_test_any_vector(volatile size_t *ivars, size_t nelems, const int *status, int cmp, const
    size_t *cmp_values);
size_t shmem_ptrdiff_test_any_vector(volatile ptrdiff_t *ivars, size_t nelems, const int *status, int cmp,
    const ptrdiff_t *cmp_values);
size_t shmem_int_test_some_vector(volatile int *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, const int *cmp_values);
size_t shmem_long_test_some_vector(volatile long *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, const long *cmp_values);
size_t shmem_longlong_test_some_vector(volatile long long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const long long *cmp_values);
size_t shmem_uint_test_some_vector(volatile unsigned int *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const unsigned int *cmp_values);
size_t shmem_ulong_test_some_vector(volatile unsigned long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const unsigned long *cmp_values);
size_t shmem_ulonglong_test_some_vector(volatile unsigned long long *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const unsigned long long *cmp_values);
size_t shmem_int32_test_some_vector(volatile int32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int32_t *cmp_values);
size_t shmem_int64_test_some_vector(volatile int64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int64_t *cmp_values);
size_t shmem_uint32_test_some_vector(volatile uint32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const uint32_t *cmp_values);
size_t shmem_uint64_test_some_vector(volatile uint64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const uint64_t *cmp_values);
size_t shmem_size_test_some_vector(volatile size_t *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, const size_t *cmp_values);
size_t shmem_ptrdiff_test_some_vector(volatile ptrdiff_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const ptrdiff_t *cmp_values);

/* Deprecated since 1.4: wait returns when the value is no longer cmp_value. */
void shmem_short_wait(volatile short *ivar, short cmp_value) HETMP_SHMEM_OLD_("shmem_short_wait_until");
void shmem_int_wait(volatile int *ivar, int cmp_value) HETMP_SHMEM_OLD_("shmem_int_wait_until");
void shmem_long_wait(volatile long *ivar, long cmp_value) HETMP_SHMEM_OLD_("shmem_long_wait_until");
void shmem_longlong_wait(volatile long long *ivar, long long cmp_value)
    HETMP_SHMEM_OLD_("shmem_longlong_wait_until");
void shmem_wait(volatile long *ivar, long cmp_value) HETMP_SHMEM_OLD_("shmem_long_wait_until");
void shmem_wait_until(volatile long *ivar, int cmp, long cmp_value) HETMP_SHMEM_OLD_("shmem_long_wait_until");

/* ---- Memory ordering (section 9.11) ----
 * fence: operations before it are seen before those after it, for each target PE and context. quiet: they are done.
 * pe_quiet (1.6): those to npes PEs are done. */
void shmem_fence(void);
void shmem_ctx_fence(shmem_ctx_t ctx);
void shmem_quiet(void);
void shmem_ctx_quiet(shmem_ctx_t ctx);
void shmem_pe_quiet(const int *target_pes, size_t npes);
void shmem_ctx_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes);

/* ---- Locks (section 9.12) ----
 * A symmetric long, 0 before its first use, is a lock among all PEs; clear only what you have set. test: 0 if it
 * was free and is yours now, 1 if it is held. clear completes what is under way first. */
void shmem_set_lock(volatile long *lock);
void shmem_clear_lock(volatile long *lock);
int shmem_test_lock(volatile long *lock);

/* Removed by 1.5: memory is coherent, they do nothing. */
void shmem_set_cache_inv(void) HETMP_SHMEM_OLD_("nothing: memory is coherent");
void shmem_clear_cache_inv(void) HETMP_SHMEM_OLD_("nothing: memory is coherent");
void shmem_udcflush(void) HETMP_SHMEM_OLD_("nothing: memory is coherent");
void shmem_set_cache_line_inv(void *dest) HETMP_SHMEM_OLD_("nothing: memory is coherent");
void shmem_clear_cache_line_inv(void *dest) HETMP_SHMEM_OLD_("nothing: memory is coherent");
void shmem_udcflush_line(void *dest) HETMP_SHMEM_OLD_("nothing: memory is coherent");

#ifdef __cplusplus
} /* extern "C" */
#endif

#if defined(__cplusplus) && defined(__GNUC__)

/* ---- C's complex types in C++ ----
 * The routines of complex numbers take std::complex in C++. Where the compiler has C's complex types there, too, which
 * are the same in memory, they are taken as well. */

extern "C++" {

__extension__ typedef double _Complex hetmp_shmem_c_complexd_t;
__extension__ typedef float _Complex hetmp_shmem_c_complexf_t;

inline int shmem_complexd_sum_reduce(shmem_team_t team, hetmp_shmem_c_complexd_t *dest, const
    hetmp_shmem_c_complexd_t *source, size_t nreduce)
{ return shmem_complexd_sum_reduce(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nreduce); }
#ifndef HETMP_SHMEM_NO_GENERICS
inline int shmem_sum_reduce(shmem_team_t team, hetmp_shmem_c_complexd_t *dest, const hetmp_shmem_c_complexd_t
    *source, size_t nreduce)
{ return shmem_complexd_sum_reduce(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nreduce); }
#endif
inline int shmem_complexd_prod_reduce(shmem_team_t team, hetmp_shmem_c_complexd_t *dest, const
    hetmp_shmem_c_complexd_t *source, size_t nreduce)
{ return shmem_complexd_prod_reduce(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nreduce); }
#ifndef HETMP_SHMEM_NO_GENERICS
inline int shmem_prod_reduce(shmem_team_t team, hetmp_shmem_c_complexd_t *dest, const hetmp_shmem_c_complexd_t
    *source, size_t nreduce)
{ return shmem_complexd_prod_reduce(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nreduce); }
#endif
inline int shmem_complexd_sum_inscan(shmem_team_t team, hetmp_shmem_c_complexd_t *dest, const
    hetmp_shmem_c_complexd_t *source, size_t nelems)
{ return shmem_complexd_sum_inscan(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nelems); }
#ifndef HETMP_SHMEM_NO_GENERICS
inline int shmem_sum_inscan(shmem_team_t team, hetmp_shmem_c_complexd_t *dest, const hetmp_shmem_c_complexd_t
    *source, size_t nelems)
{ return shmem_complexd_sum_inscan(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nelems); }
#endif
inline int shmem_complexd_sum_exscan(shmem_team_t team, hetmp_shmem_c_complexd_t *dest, const
    hetmp_shmem_c_complexd_t *source, size_t nelems)
{ return shmem_complexd_sum_exscan(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nelems); }
#ifndef HETMP_SHMEM_NO_GENERICS
inline int shmem_sum_exscan(shmem_team_t team, hetmp_shmem_c_complexd_t *dest, const hetmp_shmem_c_complexd_t
    *source, size_t nelems)
{ return shmem_complexd_sum_exscan(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nelems); }
#endif
inline void shmem_complexd_sum_to_all(hetmp_shmem_c_complexd_t *dest, const hetmp_shmem_c_complexd_t *source,
    int nreduce, int PE_start, int logPE_stride, int PE_size, hetmp_shmem_c_complexd_t *pWrk, long *pSync)
{ shmem_complexd_sum_to_all(reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest), reinterpret_cast<const
    HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nreduce, PE_start, logPE_stride, PE_size,
    reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(pWrk), pSync); }
inline void shmem_complexd_prod_to_all(hetmp_shmem_c_complexd_t *dest, const hetmp_shmem_c_complexd_t *source,
    int nreduce, int PE_start, int logPE_stride, int PE_size, hetmp_shmem_c_complexd_t *pWrk, long *pSync)
{ shmem_complexd_prod_to_all(reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(dest), reinterpret_cast<const
    HETMP_SHMEM_COMPLEX_DOUBLE_ *>(source), nreduce, PE_start, logPE_stride, PE_size,
    reinterpret_cast<HETMP_SHMEM_COMPLEX_DOUBLE_ *>(pWrk), pSync); }
inline int shmem_complexf_sum_reduce(shmem_team_t team, hetmp_shmem_c_complexf_t *dest, const
    hetmp_shmem_c_complexf_t *source, size_t nreduce)
{ return shmem_complexf_sum_reduce(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nreduce); }
#ifndef HETMP_SHMEM_NO_GENERICS
inline int shmem_sum_reduce(shmem_team_t team, hetmp_shmem_c_complexf_t *dest, const hetmp_shmem_c_complexf_t
    *source, size_t nreduce)
{ return shmem_complexf_sum_reduce(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nreduce); }
#endif
inline int shmem_complexf_prod_reduce(shmem_team_t team, hetmp_shmem_c_complexf_t *dest, const
    hetmp_shmem_c_complexf_t *source, size_t nreduce)
{ return shmem_complexf_prod_reduce(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nreduce); }
#ifndef HETMP_SHMEM_NO_GENERICS
inline int shmem_prod_reduce(shmem_team_t team, hetmp_shmem_c_complexf_t *dest, const hetmp_shmem_c_complexf_t
    *source, size_t nreduce)
{ return shmem_complexf_prod_reduce(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nreduce); }
#endif
inline int shmem_complexf_sum_inscan(shmem_team_t team, hetmp_shmem_c_complexf_t *dest, const
    hetmp_shmem_c_complexf_t *source, size_t nelems)
{ return shmem_complexf_sum_inscan(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nelems); }
#ifndef HETMP_SHMEM_NO_GENERICS
inline int shmem_sum_inscan(shmem_team_t team, hetmp_shmem_c_complexf_t *dest, const hetmp_shmem_c_complexf_t
    *source, size_t nelems)
{ return shmem_complexf_sum_inscan(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nelems); }
#endif
inline int shmem_complexf_sum_exscan(shmem_team_t team, hetmp_shmem_c_complexf_t *dest, const
    hetmp_shmem_c_complexf_t *source, size_t nelems)
{ return shmem_complexf_sum_exscan(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nelems); }
#ifndef HETMP_SHMEM_NO_GENERICS
inline int shmem_sum_exscan(shmem_team_t team, hetmp_shmem_c_complexf_t *dest, const hetmp_shmem_c_complexf_t
    *source, size_t nelems)
{ return shmem_complexf_sum_exscan(team, reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest),
    reinterpret_cast<const HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nelems); }
#endif
inline void shmem_complexf_sum_to_all(hetmp_shmem_c_complexf_t *dest, const hetmp_shmem_c_complexf_t *source,
    int nreduce, int PE_start, int logPE_stride, int PE_size, hetmp_shmem_c_complexf_t *pWrk, long *pSync)
{ shmem_complexf_sum_to_all(reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest), reinterpret_cast<const
    HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nreduce, PE_start, logPE_stride, PE_size,
    reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(pWrk), pSync); }
inline void shmem_complexf_prod_to_all(hetmp_shmem_c_complexf_t *dest, const hetmp_shmem_c_complexf_t *source,
    int nreduce, int PE_start, int logPE_stride, int PE_size, hetmp_shmem_c_complexf_t *pWrk, long *pSync)
{ shmem_complexf_prod_to_all(reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(dest), reinterpret_cast<const
    HETMP_SHMEM_COMPLEX_FLOAT_ *>(source), nreduce, PE_start, logPE_stride, PE_size,
    reinterpret_cast<HETMP_SHMEM_COMPLEX_FLOAT_ *>(pWrk), pSync); }

} /* extern "C++" */

#endif

/* ---- Type-generic names ---- */

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && \
    !defined(HETMP_SHMEM_NO_GENERICS)

#define HETMP_SHMEM_RMA_(BEFORE, AFTER) \
    float: BEFORE##float##AFTER, \
    double: BEFORE##double##AFTER, \
    long double: BEFORE##longdouble##AFTER, \
    char: BEFORE##char##AFTER, \
    signed char: BEFORE##schar##AFTER, \
    short: BEFORE##short##AFTER, \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER, \
    unsigned char: BEFORE##uchar##AFTER, \
    unsigned short: BEFORE##ushort##AFTER, \
    unsigned int: BEFORE##uint##AFTER, \
    unsigned long: BEFORE##ulong##AFTER, \
    unsigned long long: BEFORE##ulonglong##AFTER

#define HETMP_SHMEM_AMO_EXTENDED_(BEFORE, AFTER) \
    float: BEFORE##float##AFTER, \
    double: BEFORE##double##AFTER, \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER, \
    unsigned int: BEFORE##uint##AFTER, \
    unsigned long: BEFORE##ulong##AFTER, \
    unsigned long long: BEFORE##ulonglong##AFTER

#define HETMP_SHMEM_AMO_(BEFORE, AFTER) \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER, \
    unsigned int: BEFORE##uint##AFTER, \
    unsigned long: BEFORE##ulong##AFTER, \
    unsigned long long: BEFORE##ulonglong##AFTER

#define HETMP_SHMEM_AMO_BITWISE_(BEFORE, AFTER) \
    unsigned int: BEFORE##uint##AFTER, \
    unsigned long: BEFORE##ulong##AFTER, \
    unsigned long long: BEFORE##ulonglong##AFTER, \
    int: BEFORE##int32##AFTER, \
    long: BEFORE##int64##AFTER

#define HETMP_SHMEM_AMO_OLD_EXTENDED_(BEFORE, AFTER) \
    float: BEFORE##float##AFTER, \
    double: BEFORE##double##AFTER, \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER

#define HETMP_SHMEM_AMO_OLD_(BEFORE, AFTER) \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER

#define HETMP_SHMEM_BITS_(BEFORE, AFTER) \
    short: BEFORE##short##AFTER, \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER, \
    unsigned char: BEFORE##uchar##AFTER, \
    unsigned short: BEFORE##ushort##AFTER, \
    unsigned int: BEFORE##uint##AFTER, \
    unsigned long: BEFORE##ulong##AFTER, \
    unsigned long long: BEFORE##ulonglong##AFTER, \
    signed char: BEFORE##int8##AFTER

#define HETMP_SHMEM_ORDER_(BEFORE, AFTER) \
    float: BEFORE##float##AFTER, \
    double: BEFORE##double##AFTER, \
    long double: BEFORE##longdouble##AFTER, \
    char: BEFORE##char##AFTER, \
    signed char: BEFORE##schar##AFTER, \
    short: BEFORE##short##AFTER, \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER, \
    unsigned char: BEFORE##uchar##AFTER, \
    unsigned short: BEFORE##ushort##AFTER, \
    unsigned int: BEFORE##uint##AFTER, \
    unsigned long: BEFORE##ulong##AFTER, \
    unsigned long long: BEFORE##ulonglong##AFTER

#define HETMP_SHMEM_ARITHMETIC_(BEFORE, AFTER) \
    float: BEFORE##float##AFTER, \
    double: BEFORE##double##AFTER, \
    long double: BEFORE##longdouble##AFTER, \
    char: BEFORE##char##AFTER, \
    signed char: BEFORE##schar##AFTER, \
    short: BEFORE##short##AFTER, \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER, \
    unsigned char: BEFORE##uchar##AFTER, \
    unsigned short: BEFORE##ushort##AFTER, \
    unsigned int: BEFORE##uint##AFTER, \
    unsigned long: BEFORE##ulong##AFTER, \
    unsigned long long: BEFORE##ulonglong##AFTER, \
    HETMP_SHMEM_COMPLEX_DOUBLE_: BEFORE##complexd##AFTER, \
    HETMP_SHMEM_COMPLEX_FLOAT_: BEFORE##complexf##AFTER

#define HETMP_SHMEM_WAIT_(BEFORE, AFTER) \
    short: BEFORE##short##AFTER, \
    int: BEFORE##int##AFTER, \
    long: BEFORE##long##AFTER, \
    long long: BEFORE##longlong##AFTER, \
    unsigned short: BEFORE##ushort##AFTER, \
    unsigned int: BEFORE##uint##AFTER, \
    unsigned long: BEFORE##ulong##AFTER, \
    unsigned long long: BEFORE##ulonglong##AFTER

#define HETMP_SHMEM_PICK3_(a1, a2, a3, name, ...) name
#define HETMP_SHMEM_PICK4_(a1, a2, a3, a4, name, ...) name
#define HETMP_SHMEM_PICK5_(a1, a2, a3, a4, a5, name, ...) name
#define HETMP_SHMEM_PICK6_(a1, a2, a3, a4, a5, a6, name, ...) name
#define HETMP_SHMEM_PICK7_(a1, a2, a3, a4, a5, a6, a7, name, ...) name
#define HETMP_SHMEM_PICK8_(a1, a2, a3, a4, a5, a6, a7, a8, name, ...) name

#define HETMP_SHMEM_put_(dest, source, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _put))(dest, source, nelems, pe)
#define HETMP_SHMEM_ctx_put_(ctx, dest, source, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _put))(ctx, dest, source, nelems, pe)
#define shmem_put(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_put_, HETMP_SHMEM_put_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_get_(dest, source, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _get))(dest, source, nelems, pe)
#define HETMP_SHMEM_ctx_get_(ctx, dest, source, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _get))(ctx, dest, source, nelems, pe)
#define shmem_get(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_get_, HETMP_SHMEM_get_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_put_nbi_(dest, source, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _put_nbi))(dest, source, nelems, pe)
#define HETMP_SHMEM_ctx_put_nbi_(ctx, dest, source, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _put_nbi))(ctx, dest, source, nelems, pe)
#define shmem_put_nbi(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_put_nbi_, HETMP_SHMEM_put_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_get_nbi_(dest, source, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _get_nbi))(dest, source, nelems, pe)
#define HETMP_SHMEM_ctx_get_nbi_(ctx, dest, source, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _get_nbi))(ctx, dest, source, nelems, pe)
#define shmem_get_nbi(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_get_nbi_, HETMP_SHMEM_get_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_p_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _p))(dest, value, pe)
#define HETMP_SHMEM_ctx_p_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _p))(ctx, dest, value, pe)
#define shmem_p(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_p_, HETMP_SHMEM_p_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_g_(source, pe) \
    _Generic(*(source), HETMP_SHMEM_RMA_(shmem_, _g))(source, pe)
#define HETMP_SHMEM_ctx_g_(ctx, source, pe) \
    _Generic(*(source), HETMP_SHMEM_RMA_(shmem_ctx_, _g))(ctx, source, pe)
#define shmem_g(...) \
    HETMP_SHMEM_PICK3_(__VA_ARGS__, HETMP_SHMEM_ctx_g_, HETMP_SHMEM_g_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_iput_(dest, source, dst, sst, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _iput))(dest, source, dst, sst, nelems, pe)
#define HETMP_SHMEM_ctx_iput_(ctx, dest, source, dst, sst, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _iput))(ctx, dest, source, dst, sst, nelems, pe)
#define shmem_iput(...) \
    HETMP_SHMEM_PICK7_(__VA_ARGS__, HETMP_SHMEM_ctx_iput_, HETMP_SHMEM_iput_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_iget_(dest, source, dst, sst, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _iget))(dest, source, dst, sst, nelems, pe)
#define HETMP_SHMEM_ctx_iget_(ctx, dest, source, dst, sst, nelems, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _iget))(ctx, dest, source, dst, sst, nelems, pe)
#define shmem_iget(...) \
    HETMP_SHMEM_PICK7_(__VA_ARGS__, HETMP_SHMEM_ctx_iget_, HETMP_SHMEM_iget_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_ibput_(dest, source, dst, sst, bsize, nblocks, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _ibput))(dest, source, dst, sst, bsize, nblocks, pe)
#define HETMP_SHMEM_ctx_ibput_(ctx, dest, source, dst, sst, bsize, nblocks, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _ibput))(ctx, dest, source, dst, sst, bsize, nblocks, pe)
#define shmem_ibput(...) \
    HETMP_SHMEM_PICK8_(__VA_ARGS__, HETMP_SHMEM_ctx_ibput_, HETMP_SHMEM_ibput_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_ibget_(dest, source, dst, sst, bsize, nblocks, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _ibget))(dest, source, dst, sst, bsize, nblocks, pe)
#define HETMP_SHMEM_ctx_ibget_(ctx, dest, source, dst, sst, bsize, nblocks, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _ibget))(ctx, dest, source, dst, sst, bsize, nblocks, pe)
#define shmem_ibget(...) \
    HETMP_SHMEM_PICK8_(__VA_ARGS__, HETMP_SHMEM_ctx_ibget_, HETMP_SHMEM_ibget_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_(source, pe) \
    _Generic(*(source), HETMP_SHMEM_AMO_EXTENDED_(shmem_, _atomic_fetch))(source, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_(ctx, source, pe) \
    _Generic(*(source), HETMP_SHMEM_AMO_EXTENDED_(shmem_ctx_, _atomic_fetch))(ctx, source, pe)
#define shmem_atomic_fetch(...) \
    HETMP_SHMEM_PICK3_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_, HETMP_SHMEM_atomic_fetch_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_set_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_EXTENDED_(shmem_, _atomic_set))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_set_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_EXTENDED_(shmem_ctx_, _atomic_set))(ctx, dest, value, pe)
#define shmem_atomic_set(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_set_, HETMP_SHMEM_atomic_set_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_compare_swap_(dest, cond, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_, _atomic_compare_swap))(dest, cond, value, pe)
#define HETMP_SHMEM_ctx_atomic_compare_swap_(ctx, dest, cond, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_ctx_, _atomic_compare_swap))(ctx, dest, cond, value, pe)
#define shmem_atomic_compare_swap(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_compare_swap_, HETMP_SHMEM_atomic_compare_swap_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_swap_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_EXTENDED_(shmem_, _atomic_swap))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_swap_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_EXTENDED_(shmem_ctx_, _atomic_swap))(ctx, dest, value, pe)
#define shmem_atomic_swap(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_swap_, HETMP_SHMEM_atomic_swap_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_inc_(dest, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_, _atomic_fetch_inc))(dest, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_inc_(ctx, dest, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_ctx_, _atomic_fetch_inc))(ctx, dest, pe)
#define shmem_atomic_fetch_inc(...) \
    HETMP_SHMEM_PICK3_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_inc_, HETMP_SHMEM_atomic_fetch_inc_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_inc_(dest, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_, _atomic_inc))(dest, pe)
#define HETMP_SHMEM_ctx_atomic_inc_(ctx, dest, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_ctx_, _atomic_inc))(ctx, dest, pe)
#define shmem_atomic_inc(...) \
    HETMP_SHMEM_PICK3_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_inc_, HETMP_SHMEM_atomic_inc_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_add_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_, _atomic_fetch_add))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_add_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_ctx_, _atomic_fetch_add))(ctx, dest, value, pe)
#define shmem_atomic_fetch_add(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_add_, HETMP_SHMEM_atomic_fetch_add_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_add_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_, _atomic_add))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_add_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_(shmem_ctx_, _atomic_add))(ctx, dest, value, pe)
#define shmem_atomic_add(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_add_, HETMP_SHMEM_atomic_add_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_and_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_fetch_and))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_and_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_fetch_and))(ctx, dest, value, pe)
#define shmem_atomic_fetch_and(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_and_, HETMP_SHMEM_atomic_fetch_and_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_and_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_and))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_and_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_and))(ctx, dest, value, pe)
#define shmem_atomic_and(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_and_, HETMP_SHMEM_atomic_and_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_or_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_fetch_or))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_or_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_fetch_or))(ctx, dest, value, pe)
#define shmem_atomic_fetch_or(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_or_, HETMP_SHMEM_atomic_fetch_or_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_or_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_or))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_or_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_or))(ctx, dest, value, pe)
#define shmem_atomic_or(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_or_, HETMP_SHMEM_atomic_or_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_xor_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_fetch_xor))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_xor_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_fetch_xor))(ctx, dest, value, pe)
#define shmem_atomic_fetch_xor(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_xor_, HETMP_SHMEM_atomic_fetch_xor_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_xor_(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_xor))(dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_xor_(ctx, dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_xor))(ctx, dest, value, pe)
#define shmem_atomic_xor(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_xor_, HETMP_SHMEM_atomic_xor_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_nbi_(fetch, source, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_EXTENDED_(shmem_, _atomic_fetch_nbi))(fetch, source, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_nbi_(ctx, fetch, source, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_EXTENDED_(shmem_ctx_, _atomic_fetch_nbi))(ctx, fetch, source, pe)
#define shmem_atomic_fetch_nbi(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_nbi_, HETMP_SHMEM_atomic_fetch_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_compare_swap_nbi_(fetch, dest, cond, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_(shmem_, _atomic_compare_swap_nbi))(fetch, dest, cond, value, pe)
#define HETMP_SHMEM_ctx_atomic_compare_swap_nbi_(ctx, fetch, dest, cond, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_(shmem_ctx_, _atomic_compare_swap_nbi))(ctx, fetch, dest, cond, value, pe)
#define shmem_atomic_compare_swap_nbi(...) \
    HETMP_SHMEM_PICK6_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_compare_swap_nbi_, HETMP_SHMEM_atomic_compare_swap_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_swap_nbi_(fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_EXTENDED_(shmem_, _atomic_swap_nbi))(fetch, dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_swap_nbi_(ctx, fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_EXTENDED_(shmem_ctx_, _atomic_swap_nbi))(ctx, fetch, dest, value, pe)
#define shmem_atomic_swap_nbi(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_swap_nbi_, HETMP_SHMEM_atomic_swap_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_inc_nbi_(fetch, dest, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_(shmem_, _atomic_fetch_inc_nbi))(fetch, dest, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_inc_nbi_(ctx, fetch, dest, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_(shmem_ctx_, _atomic_fetch_inc_nbi))(ctx, fetch, dest, pe)
#define shmem_atomic_fetch_inc_nbi(...) \
    HETMP_SHMEM_PICK4_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_inc_nbi_, HETMP_SHMEM_atomic_fetch_inc_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_add_nbi_(fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_(shmem_, _atomic_fetch_add_nbi))(fetch, dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_add_nbi_(ctx, fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_(shmem_ctx_, _atomic_fetch_add_nbi))(ctx, fetch, dest, value, pe)
#define shmem_atomic_fetch_add_nbi(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_add_nbi_, HETMP_SHMEM_atomic_fetch_add_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_and_nbi_(fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_fetch_and_nbi))(fetch, dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_and_nbi_(ctx, fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_fetch_and_nbi))(ctx, fetch, dest, value, pe)
#define shmem_atomic_fetch_and_nbi(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_and_nbi_, HETMP_SHMEM_atomic_fetch_and_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_or_nbi_(fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_fetch_or_nbi))(fetch, dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_or_nbi_(ctx, fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_fetch_or_nbi))(ctx, fetch, dest, value, pe)
#define shmem_atomic_fetch_or_nbi(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_or_nbi_, HETMP_SHMEM_atomic_fetch_or_nbi_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_atomic_fetch_xor_nbi_(fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_BITWISE_(shmem_, _atomic_fetch_xor_nbi))(fetch, dest, value, pe)
#define HETMP_SHMEM_ctx_atomic_fetch_xor_nbi_(ctx, fetch, dest, value, pe) \
    _Generic(*(fetch), HETMP_SHMEM_AMO_BITWISE_(shmem_ctx_, _atomic_fetch_xor_nbi))(ctx, fetch, dest, value, pe)
#define shmem_atomic_fetch_xor_nbi(...) \
    HETMP_SHMEM_PICK5_(__VA_ARGS__, HETMP_SHMEM_ctx_atomic_fetch_xor_nbi_, HETMP_SHMEM_atomic_fetch_xor_nbi_, 0)(__VA_ARGS__)
#define shmem_fetch(source, pe) \
    _Generic(*(source), HETMP_SHMEM_AMO_OLD_EXTENDED_(shmem_, _fetch))(source, pe)
#define shmem_set(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_OLD_EXTENDED_(shmem_, _set))(dest, value, pe)
#define shmem_cswap(dest, cond, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_OLD_(shmem_, _cswap))(dest, cond, value, pe)
#define shmem_swap(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_OLD_EXTENDED_(shmem_, _swap))(dest, value, pe)
#define shmem_finc(dest, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_OLD_(shmem_, _finc))(dest, pe)
#define shmem_inc(dest, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_OLD_(shmem_, _inc))(dest, pe)
#define shmem_fadd(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_OLD_(shmem_, _fadd))(dest, value, pe)
#define shmem_add(dest, value, pe) \
    _Generic(*(dest), HETMP_SHMEM_AMO_OLD_(shmem_, _add))(dest, value, pe)
#define HETMP_SHMEM_put_signal_(dest, source, nelems, sig_addr, signal, sig_op, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _put_signal))(dest, source, nelems, sig_addr, signal, sig_op, pe)
#define HETMP_SHMEM_ctx_put_signal_(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _put_signal))(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe)
#define shmem_put_signal(...) \
    HETMP_SHMEM_PICK8_(__VA_ARGS__, HETMP_SHMEM_ctx_put_signal_, HETMP_SHMEM_put_signal_, 0)(__VA_ARGS__)
#define HETMP_SHMEM_put_signal_nbi_(dest, source, nelems, sig_addr, signal, sig_op, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _put_signal_nbi))(dest, source, nelems, sig_addr, signal, sig_op, pe)
#define HETMP_SHMEM_ctx_put_signal_nbi_(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_ctx_, _put_signal_nbi))(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe)
#define shmem_put_signal_nbi(...) \
    HETMP_SHMEM_PICK8_(__VA_ARGS__, HETMP_SHMEM_ctx_put_signal_nbi_, HETMP_SHMEM_put_signal_nbi_, 0)(__VA_ARGS__)
#define shmem_broadcast(team, dest, source, nelems, PE_root) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _broadcast))(team, dest, source, nelems, PE_root)
#define shmem_collect(team, dest, source, nelems) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _collect))(team, dest, source, nelems)
#define shmem_fcollect(team, dest, source, nelems) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _fcollect))(team, dest, source, nelems)
#define shmem_alltoall(team, dest, source, nelems) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _alltoall))(team, dest, source, nelems)
#define shmem_alltoalls(team, dest, source, dst, sst, nelems) \
    _Generic(*(dest), HETMP_SHMEM_RMA_(shmem_, _alltoalls))(team, dest, source, dst, sst, nelems)
#define shmem_and_reduce(team, dest, source, nreduce) \
    _Generic(*(dest), HETMP_SHMEM_BITS_(shmem_, _and_reduce))(team, dest, source, nreduce)
#define shmem_or_reduce(team, dest, source, nreduce) \
    _Generic(*(dest), HETMP_SHMEM_BITS_(shmem_, _or_reduce))(team, dest, source, nreduce)
#define shmem_xor_reduce(team, dest, source, nreduce) \
    _Generic(*(dest), HETMP_SHMEM_BITS_(shmem_, _xor_reduce))(team, dest, source, nreduce)
#define shmem_max_reduce(team, dest, source, nreduce) \
    _Generic(*(dest), HETMP_SHMEM_ORDER_(shmem_, _max_reduce))(team, dest, source, nreduce)
#define shmem_min_reduce(team, dest, source, nreduce) \
    _Generic(*(dest), HETMP_SHMEM_ORDER_(shmem_, _min_reduce))(team, dest, source, nreduce)
#define shmem_sum_reduce(team, dest, source, nreduce) \
    _Generic(*(dest), HETMP_SHMEM_ARITHMETIC_(shmem_, _sum_reduce))(team, dest, source, nreduce)
#define shmem_prod_reduce(team, dest, source, nreduce) \
    _Generic(*(dest), HETMP_SHMEM_ARITHMETIC_(shmem_, _prod_reduce))(team, dest, source, nreduce)
#define shmem_sum_inscan(team, dest, source, nelems) \
    _Generic(*(dest), HETMP_SHMEM_ARITHMETIC_(shmem_, _sum_inscan))(team, dest, source, nelems)
#define shmem_sum_exscan(team, dest, source, nelems) \
    _Generic(*(dest), HETMP_SHMEM_ARITHMETIC_(shmem_, _sum_exscan))(team, dest, source, nelems)
#define shmem_wait_until(ivar, cmp, cmp_value) \
    _Generic(*(ivar), HETMP_SHMEM_WAIT_(shmem_, _wait_until))(ivar, cmp, cmp_value)
#define shmem_wait_until_all(ivars, nelems, status, cmp, cmp_value) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _wait_until_all))(ivars, nelems, status, cmp, cmp_value)
#define shmem_wait_until_any(ivars, nelems, status, cmp, cmp_value) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _wait_until_any))(ivars, nelems, status, cmp, cmp_value)
#define shmem_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _wait_until_some))(ivars, nelems, indices, status, cmp, cmp_value)
#define shmem_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _wait_until_all_vector))(ivars, nelems, status, cmp, cmp_values)
#define shmem_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _wait_until_any_vector))(ivars, nelems, status, cmp, cmp_values)
#define shmem_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _wait_until_some_vector))(ivars, nelems, indices, status, cmp, cmp_values)
#define shmem_test(ivar, cmp, cmp_value) \
    _Generic(*(ivar), HETMP_SHMEM_WAIT_(shmem_, _test))(ivar, cmp, cmp_value)
#define shmem_test_all(ivars, nelems, status, cmp, cmp_value) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _test_all))(ivars, nelems, status, cmp, cmp_value)
#define shmem_test_any(ivars, nelems, status, cmp, cmp_value) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _test_any))(ivars, nelems, status, cmp, cmp_value)
#define shmem_test_some(ivars, nelems, indices, status, cmp, cmp_value) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _test_some))(ivars, nelems, indices, status, cmp, cmp_value)
#define shmem_test_all_vector(ivars, nelems, status, cmp, cmp_values) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _test_all_vector))(ivars, nelems, status, cmp, cmp_values)
#define shmem_test_any_vector(ivars, nelems, status, cmp, cmp_values) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _test_any_vector))(ivars, nelems, status, cmp, cmp_values)
#define shmem_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values) \
    _Generic(*(ivars), HETMP_SHMEM_AMO_(shmem_, _test_some_vector))(ivars, nelems, indices, status, cmp, cmp_values)

/* These four are functions as well: the number of arguments tells. */
#define shmem_sync(...) HETMP_SHMEM_PICK4_(__VA_ARGS__, shmem_sync, 0, 0, shmem_team_sync, 0)(__VA_ARGS__)
#define shmem_signal_set(...) HETMP_SHMEM_PICK4_(__VA_ARGS__, shmem_ctx_signal_set, shmem_signal_set, 0)(__VA_ARGS__)
#define shmem_signal_add(...) HETMP_SHMEM_PICK4_(__VA_ARGS__, shmem_ctx_signal_add, shmem_signal_add, 0)(__VA_ARGS__)

#elif defined(__cplusplus) && !defined(HETMP_SHMEM_NO_GENERICS)

extern "C++" {

inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{ shmem_ctx_signal_set(ctx, sig_addr, signal, pe); }
inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{ shmem_ctx_signal_add(ctx, sig_addr, signal, pe); }

#define HETMP_SHMEM_RMA_(X) \
    X(float, float) \
    X(double, double) \
    X(longdouble, long double) \
    X(char, char) \
    X(schar, signed char) \
    X(short, short) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(uchar, unsigned char) \
    X(ushort, unsigned short) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long)

#define HETMP_SHMEM_AMO_EXTENDED_(X) \
    X(float, float) \
    X(double, double) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long)

#define HETMP_SHMEM_AMO_(X) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long)

#define HETMP_SHMEM_AMO_BITWISE_(X) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) \
    X(int32, int) \
    X(int64, long)

#define HETMP_SHMEM_AMO_OLD_EXTENDED_(X) \
    X(float, float) \
    X(double, double) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long)

#define HETMP_SHMEM_AMO_OLD_(X) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long)

#define HETMP_SHMEM_BITS_(X) \
    X(short, short) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(uchar, unsigned char) \
    X(ushort, unsigned short) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) \
    X(int8, signed char)

#define HETMP_SHMEM_ORDER_(X) \
    X(float, float) \
    X(double, double) \
    X(longdouble, long double) \
    X(char, char) \
    X(schar, signed char) \
    X(short, short) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(uchar, unsigned char) \
    X(ushort, unsigned short) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long)

#define HETMP_SHMEM_ARITHMETIC_(X) \
    X(float, float) \
    X(double, double) \
    X(longdouble, long double) \
    X(char, char) \
    X(schar, signed char) \
    X(short, short) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(uchar, unsigned char) \
    X(ushort, unsigned short) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) \
    X(complexd, HETMP_SHMEM_COMPLEX_DOUBLE_) \
    X(complexf, HETMP_SHMEM_COMPLEX_FLOAT_)

#define HETMP_SHMEM_WAIT_(X) \
    X(short, short) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(ushort, unsigned short) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long)

#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_put(TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { shmem_##NAME##_put(dest, source, nelems, pe); } \
    inline void shmem_put(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { shmem_ctx_##NAME##_put(ctx, dest, source, nelems, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_get(TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { shmem_##NAME##_get(dest, source, nelems, pe); } \
    inline void shmem_get(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { shmem_ctx_##NAME##_get(ctx, dest, source, nelems, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_put_nbi(TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { shmem_##NAME##_put_nbi(dest, source, nelems, pe); } \
    inline void shmem_put_nbi(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { shmem_ctx_##NAME##_put_nbi(ctx, dest, source, nelems, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_get_nbi(TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { shmem_##NAME##_get_nbi(dest, source, nelems, pe); } \
    inline void shmem_get_nbi(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { shmem_ctx_##NAME##_get_nbi(ctx, dest, source, nelems, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_p(TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_p(dest, value, pe); } \
    inline void shmem_p(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_p(ctx, dest, value, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_g(const TYPE *source, int pe) \
    { return shmem_##NAME##_g(source, pe); } \
    inline TYPE shmem_g(shmem_ctx_t ctx, const TYPE *source, int pe) \
    { return shmem_ctx_##NAME##_g(ctx, source, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_iput(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) \
    { shmem_##NAME##_iput(dest, source, dst, sst, nelems, pe); } \
    inline void shmem_iput(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) \
    { shmem_ctx_##NAME##_iput(ctx, dest, source, dst, sst, nelems, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_iget(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) \
    { shmem_##NAME##_iget(dest, source, dst, sst, nelems, pe); } \
    inline void shmem_iget(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) \
    { shmem_ctx_##NAME##_iget(ctx, dest, source, dst, sst, nelems, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_ibput(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    { shmem_##NAME##_ibput(dest, source, dst, sst, bsize, nblocks, pe); } \
    inline void shmem_ibput(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    { shmem_ctx_##NAME##_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_ibget(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    { shmem_##NAME##_ibget(dest, source, dst, sst, bsize, nblocks, pe); } \
    inline void shmem_ibget(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    { shmem_ctx_##NAME##_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_atomic_fetch(const TYPE *source, int pe) \
    { return shmem_##NAME##_atomic_fetch(source, pe); } \
    inline TYPE shmem_atomic_fetch(shmem_ctx_t ctx, const TYPE *source, int pe) \
    { return shmem_ctx_##NAME##_atomic_fetch(ctx, source, pe); }
HETMP_SHMEM_AMO_EXTENDED_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_set(TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_set(dest, value, pe); } \
    inline void shmem_atomic_set(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_set(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_EXTENDED_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_atomic_compare_swap(TYPE *dest, TYPE cond, TYPE value, int pe) \
    { return shmem_##NAME##_atomic_compare_swap(dest, cond, value, pe); } \
    inline TYPE shmem_atomic_compare_swap(shmem_ctx_t ctx, TYPE *dest, TYPE cond, TYPE value, int pe) \
    { return shmem_ctx_##NAME##_atomic_compare_swap(ctx, dest, cond, value, pe); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_atomic_swap(TYPE *dest, TYPE value, int pe) \
    { return shmem_##NAME##_atomic_swap(dest, value, pe); } \
    inline TYPE shmem_atomic_swap(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { return shmem_ctx_##NAME##_atomic_swap(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_EXTENDED_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_atomic_fetch_inc(TYPE *dest, int pe) \
    { return shmem_##NAME##_atomic_fetch_inc(dest, pe); } \
    inline TYPE shmem_atomic_fetch_inc(shmem_ctx_t ctx, TYPE *dest, int pe) \
    { return shmem_ctx_##NAME##_atomic_fetch_inc(ctx, dest, pe); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_inc(TYPE *dest, int pe) \
    { shmem_##NAME##_atomic_inc(dest, pe); } \
    inline void shmem_atomic_inc(shmem_ctx_t ctx, TYPE *dest, int pe) \
    { shmem_ctx_##NAME##_atomic_inc(ctx, dest, pe); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_atomic_fetch_add(TYPE *dest, TYPE value, int pe) \
    { return shmem_##NAME##_atomic_fetch_add(dest, value, pe); } \
    inline TYPE shmem_atomic_fetch_add(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { return shmem_ctx_##NAME##_atomic_fetch_add(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_add(TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_add(dest, value, pe); } \
    inline void shmem_atomic_add(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_add(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_atomic_fetch_and(TYPE *dest, TYPE value, int pe) \
    { return shmem_##NAME##_atomic_fetch_and(dest, value, pe); } \
    inline TYPE shmem_atomic_fetch_and(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { return shmem_ctx_##NAME##_atomic_fetch_and(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_and(TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_and(dest, value, pe); } \
    inline void shmem_atomic_and(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_and(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_atomic_fetch_or(TYPE *dest, TYPE value, int pe) \
    { return shmem_##NAME##_atomic_fetch_or(dest, value, pe); } \
    inline TYPE shmem_atomic_fetch_or(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { return shmem_ctx_##NAME##_atomic_fetch_or(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_or(TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_or(dest, value, pe); } \
    inline void shmem_atomic_or(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_or(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_atomic_fetch_xor(TYPE *dest, TYPE value, int pe) \
    { return shmem_##NAME##_atomic_fetch_xor(dest, value, pe); } \
    inline TYPE shmem_atomic_fetch_xor(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { return shmem_ctx_##NAME##_atomic_fetch_xor(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_xor(TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_xor(dest, value, pe); } \
    inline void shmem_atomic_xor(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_xor(ctx, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_fetch_nbi(TYPE *fetch, const TYPE *source, int pe) \
    { shmem_##NAME##_atomic_fetch_nbi(fetch, source, pe); } \
    inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, TYPE *fetch, const TYPE *source, int pe) \
    { shmem_ctx_##NAME##_atomic_fetch_nbi(ctx, fetch, source, pe); }
HETMP_SHMEM_AMO_EXTENDED_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_compare_swap_nbi(TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe) \
    { shmem_##NAME##_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); } \
    inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_swap_nbi(TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_swap_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
HETMP_SHMEM_AMO_EXTENDED_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_fetch_inc_nbi(TYPE *fetch, TYPE *dest, int pe) \
    { shmem_##NAME##_atomic_fetch_inc_nbi(fetch, dest, pe); } \
    inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, int pe) \
    { shmem_ctx_##NAME##_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_fetch_add_nbi(TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_fetch_add_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_fetch_and_nbi(TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_fetch_and_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_fetch_or_nbi(TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_fetch_or_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_atomic_fetch_xor_nbi(TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_atomic_fetch_xor_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, int pe) \
    { shmem_ctx_##NAME##_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
HETMP_SHMEM_AMO_BITWISE_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_fetch(const TYPE *source, int pe) \
    { return shmem_##NAME##_fetch(source, pe); }
HETMP_SHMEM_AMO_OLD_EXTENDED_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_set(TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_set(dest, value, pe); }
HETMP_SHMEM_AMO_OLD_EXTENDED_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_cswap(TYPE *dest, TYPE cond, TYPE value, int pe) \
    { return shmem_##NAME##_cswap(dest, cond, value, pe); }
HETMP_SHMEM_AMO_OLD_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_swap(TYPE *dest, TYPE value, int pe) \
    { return shmem_##NAME##_swap(dest, value, pe); }
HETMP_SHMEM_AMO_OLD_EXTENDED_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_finc(TYPE *dest, int pe) \
    { return shmem_##NAME##_finc(dest, pe); }
HETMP_SHMEM_AMO_OLD_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_inc(TYPE *dest, int pe) \
    { shmem_##NAME##_inc(dest, pe); }
HETMP_SHMEM_AMO_OLD_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline TYPE shmem_fadd(TYPE *dest, TYPE value, int pe) \
    { return shmem_##NAME##_fadd(dest, value, pe); }
HETMP_SHMEM_AMO_OLD_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_add(TYPE *dest, TYPE value, int pe) \
    { shmem_##NAME##_add(dest, value, pe); }
HETMP_SHMEM_AMO_OLD_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_put_signal(TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    { shmem_##NAME##_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
    inline void shmem_put_signal(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    { shmem_ctx_##NAME##_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_put_signal_nbi(TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    { shmem_##NAME##_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
    inline void shmem_put_signal_nbi(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    { shmem_ctx_##NAME##_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_broadcast(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root) \
    { return shmem_##NAME##_broadcast(team, dest, source, nelems, PE_root); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_collect(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems) \
    { return shmem_##NAME##_collect(team, dest, source, nelems); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_fcollect(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems) \
    { return shmem_##NAME##_fcollect(team, dest, source, nelems); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_alltoall(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems) \
    { return shmem_##NAME##_alltoall(team, dest, source, nelems); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_alltoalls(shmem_team_t team, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) \
    { return shmem_##NAME##_alltoalls(team, dest, source, dst, sst, nelems); }
HETMP_SHMEM_RMA_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_and_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    { return shmem_##NAME##_and_reduce(team, dest, source, nreduce); }
HETMP_SHMEM_BITS_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_or_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    { return shmem_##NAME##_or_reduce(team, dest, source, nreduce); }
HETMP_SHMEM_BITS_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_xor_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    { return shmem_##NAME##_xor_reduce(team, dest, source, nreduce); }
HETMP_SHMEM_BITS_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_max_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    { return shmem_##NAME##_max_reduce(team, dest, source, nreduce); }
HETMP_SHMEM_ORDER_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_min_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    { return shmem_##NAME##_min_reduce(team, dest, source, nreduce); }
HETMP_SHMEM_ORDER_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_sum_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    { return shmem_##NAME##_sum_reduce(team, dest, source, nreduce); }
HETMP_SHMEM_ARITHMETIC_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_prod_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    { return shmem_##NAME##_prod_reduce(team, dest, source, nreduce); }
HETMP_SHMEM_ARITHMETIC_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_sum_inscan(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems) \
    { return shmem_##NAME##_sum_inscan(team, dest, source, nelems); }
HETMP_SHMEM_ARITHMETIC_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_sum_exscan(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems) \
    { return shmem_##NAME##_sum_exscan(team, dest, source, nelems); }
HETMP_SHMEM_ARITHMETIC_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_wait_until(volatile TYPE *ivar, int cmp, TYPE cmp_value) \
    { shmem_##NAME##_wait_until(ivar, cmp, cmp_value); }
HETMP_SHMEM_X_(short, short)
HETMP_SHMEM_X_(int, int)
HETMP_SHMEM_X_(longlong, long long)
HETMP_SHMEM_X_(ushort, unsigned short)
HETMP_SHMEM_X_(uint, unsigned int)
HETMP_SHMEM_X_(ulong, unsigned long)
HETMP_SHMEM_X_(ulonglong, unsigned long long)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_wait_until_all(volatile TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value) \
    { shmem_##NAME##_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline size_t shmem_wait_until_any(volatile TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value) \
    { return shmem_##NAME##_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline size_t shmem_wait_until_some(volatile TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, TYPE cmp_value) \
    { return shmem_##NAME##_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline void shmem_wait_until_all_vector(volatile TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values) \
    { shmem_##NAME##_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline size_t shmem_wait_until_any_vector(volatile TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values) \
    { return shmem_##NAME##_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline size_t shmem_wait_until_some_vector(volatile TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const TYPE *cmp_values) \
    { return shmem_##NAME##_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_test(volatile TYPE *ivar, int cmp, TYPE cmp_value) \
    { return shmem_##NAME##_test(ivar, cmp, cmp_value); }
HETMP_SHMEM_WAIT_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_test_all(volatile TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value) \
    { return shmem_##NAME##_test_all(ivars, nelems, status, cmp, cmp_value); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline size_t shmem_test_any(volatile TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value) \
    { return shmem_##NAME##_test_any(ivars, nelems, status, cmp, cmp_value); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline size_t shmem_test_some(volatile TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, TYPE cmp_value) \
    { return shmem_##NAME##_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline int shmem_test_all_vector(volatile TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values) \
    { return shmem_##NAME##_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline size_t shmem_test_any_vector(volatile TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values) \
    { return shmem_##NAME##_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#define HETMP_SHMEM_X_(NAME, TYPE) \
    inline size_t shmem_test_some_vector(volatile TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const TYPE *cmp_values) \
    { return shmem_##NAME##_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
HETMP_SHMEM_AMO_(HETMP_SHMEM_X_)
#undef HETMP_SHMEM_X_
#undef HETMP_SHMEM_RMA_
#undef HETMP_SHMEM_AMO_EXTENDED_
#undef HETMP_SHMEM_AMO_
#undef HETMP_SHMEM_AMO_BITWISE_
#undef HETMP_SHMEM_AMO_OLD_EXTENDED_
#undef HETMP_SHMEM_AMO_OLD_
#undef HETMP_SHMEM_BITS_
#undef HETMP_SHMEM_ORDER_
#undef HETMP_SHMEM_ARITHMETIC_
#undef HETMP_SHMEM_WAIT_

} /* extern "C++" */

#endif

#endif /* HETMP_SHMEM_H */
