/* The header in C++: the C functions as they are, from templates, lambdas and classes, and the overloads that the
 * specification has for C++ where it has them.
 * shmem-test: builds=default c++11 c++20 */
#include "shtest.h"
#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>

namespace {

template <typename T> class Symmetric {
  public:
    explicit Symmetric(std::size_t n) : at_(static_cast<T *>(shmem_malloc(n * sizeof(T)))) {}
    ~Symmetric() { shmem_free(at_); }
    Symmetric(const Symmetric &) = delete;
    T *get() const { return at_; }
    T &operator[](std::size_t i) const { return at_[i]; }

  private:
    T *at_;
};

struct Particle {
    double position[3];
    int kind;
};

long counter;

} // namespace

int main() {
    test_begin();
    {
        Symmetric<Particle> particles(10);
        std::array<Particle, 10> mine;
        std::for_each(mine.begin(), mine.end(), [](Particle &p) { p = Particle{{1.0 * me, 2, 3}, me}; });
        shmem_putmem(particles.get(), mine.data(), sizeof mine, next);
        shmem_barrier_all();
        CHECK(std::all_of(particles.get(), particles.get() + 10,
                          [](const Particle &p) { return p.kind == prev && p.position[0] == prev; }));
        Symmetric<double> values(static_cast<std::size_t>(npes)), sums(1);
        std::iota(values.get(), values.get() + npes, me);
        shmem_barrier_all();
        CHECK(shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums.get(), values.get(), 1) == 0);
        CHECK(sums[0] == npes * (npes - 1) / 2.0);
        CHECK(shmem_long_atomic_fetch_inc(&counter, me) == 0);
        shmem_barrier_all();
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
        shmem_ctx_long_p(ctx, &counter, 70 + me, next);
        shmem_ctx_destroy(ctx);
        shmem_team_t team = SHMEM_TEAM_INVALID;
        shmem_team_config_t config = {};
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, &config, 0, &team) == 0);
        CHECK(shmem_team_sync(team) == 0);
        CHECK(shmem_team_my_pe(team) == me);
        shmem_team_destroy(team);
        shmem_barrier_all();
        CHECK(counter == 70 + prev);
    }
    return test_end("cxx_use");
}
