//! Which regions can tell other threads nothing, compiled by gcc in several ways. The functions that hold regions are
//! named for that.
#![cfg(target_arch = "x86_64")]

mod support;

use hetmp_scan::is_mute;
use support::compile_text;

const PROGRAM: &str = r#"
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
double a[4096], b[4096], sums[64][17], total;
float f[4096];
long double l[4096];
struct { char c; double d; } __attribute__((packed)) p[100];
int n[64], flag;
char c[64];
_Atomic int ready;
_Atomic double level;
volatile double seen;
__attribute__((noinline)) int own(int x) { return x ? rand() % x : 1; }
void mute_stencil(int m) {
#pragma omp parallel for
    for (int i = 1; i < m - 1; i++) b[i] = 0.25 * (a[i - 1] + a[i + 1]) + sqrt(fabs(a[i])) + exp(b[i]);
}
void mute_sums(int m) {
#pragma omp parallel
    {
        double *mine = sums[omp_get_thread_num()];
#pragma omp for
        for (int i = 0; i < m; i++) mine[i % 17] += a[i];
    }
}
void mute_barriers(int m) {
#pragma omp parallel
    {
        a[omp_get_thread_num()] *= 2;
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (int i = 0; i < m; i++) f[i] += a[0], l[i] = a[1], p[i % 100].d += 1;
#pragma omp critical
        total += a[2];
    }
}
void mute_counts(int *at) {
#pragma omp parallel
    {
        n[omp_get_thread_num()]++;
        c[omp_get_thread_num()] += 3;
        at[omp_get_thread_num()] -= 5;
    }
}
void tells_release(void) {
#pragma omp parallel
    {
        a[7] += 1;
        atomic_store_explicit(&ready, 1, memory_order_release);
    }
}
void tells_relaxed_double(double x) {
#pragma omp parallel
    atomic_store_explicit(&level, x, memory_order_relaxed);
}
void tells_omp_write(double x) {
#pragma omp parallel
    {
#pragma omp atomic write
        total = x;
    }
}
void tells_strong(void) {
#pragma omp parallel
    atomic_store(&ready, 1);
}
void tells_added(void) {
#pragma omp parallel
    {
#pragma omp atomic
        flag++;
    }
}
void tells_reduced(int m) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < m; i++) sum += a[i];
    total = sum;
}
void tells_flush(void) {
#pragma omp parallel
    {
        seen = 1;
#pragma omp flush
        a[1] = seen;
    }
}
void tells_exchanged(void) {
#pragma omp parallel
    a[0] = atomic_exchange(&ready, 2);
}
void tells_compared(void) {
#pragma omp parallel
    {
        int zero = 0;
        atomic_compare_exchange_strong(&ready, &zero, 2);
    }
}
void tells_called(void) {
#pragma omp parallel
    a[2] += rand();
}
void tells_own(int m) {
#pragma omp parallel
    a[2] += own(m);
}
void tells_pointer(void (*f)(double *)) {
#pragma omp parallel
    f(a);
}
void tells_number(void) {
#pragma omp parallel
    n[omp_get_thread_num()] = omp_get_num_threads();
}
void tells_copied(char *from, int m) {
#pragma omp parallel
    memcpy(c, from, m);
}
void tells_task(void) {
#pragma omp parallel
    {
#pragma omp task
        a[3] += 1;
    }
}
void tells_lock(omp_lock_t *lock) {
#pragma omp parallel
    {
        omp_set_lock(lock);
        a[4] += 1;
        omp_unset_lock(lock);
    }
}
int main(void) { return 0; }
"#;

#[test]
fn regions() {
    for options in [
        &["-O1"][..],
        &["-O2"],
        &["-O3", "-mavx2"],
        &["-Os"],
        &["-O2", "-fPIC", "-shared"],
        &["-Ofast", "-fstack-protector-all"],
        &["-O0"],
    ] {
        let file = compile_text("gcc", "mute.c", PROGRAM, options);
        let mut count = 0;
        for (name, &address) in &file.functions {
            let is_region = name.contains("_omp_fn.0") && !name.contains(".cold");
            if !is_region || !(name.starts_with("mute_") || name.starts_with("tells_")) {
                continue;
            }
            count += 1;
            let found = is_mute(&*file, address);
            // Without optimisation variables lie in the frame, where this does not look.
            if name.starts_with("tells_") || options != ["-O0"] {
                assert_eq!(
                    found.is_ok(),
                    name.starts_with("mute_"),
                    "{name} {options:?}: {found:x?}"
                );
            }
        }
        assert_eq!(count, 20, "{options:?}");
    }
}
