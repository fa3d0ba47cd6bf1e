// C++ on several nodes: constructors of static objects run once, new and delete in all forms, containers that threads of
// all nodes fill and read, exceptions that are thrown and caught in a region.
#include <cstdint>
#include <cstdio>
#include <new>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

static int made, ended;
struct Once {
    std::vector<int> values;
    Once() : values(1000, 3) { made++; }
    ~Once()
    {
        ended++;
        std::printf("ended %d\n", ended);
    }
};
static Once once;

struct alignas(128) Wide {
    double a[16];
};

struct Refused : std::runtime_error {
    int number;
    explicit Refused(int n) : std::runtime_error("refused"), number(n) {}
};

__attribute__((noinline)) static int odd_only(int n)
{
    if (n % 2 == 0)
        throw Refused(n);
    return n;
}

int main(int argc, char **argv)
{
    omp_set_num_threads(4);
    std::vector<double> data(20000, 1.0);
    std::vector<std::vector<int>> lists(4);
    double sum = 0;
    long bad = 0, caught = 0, passed = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::size_t i = 0; i < data.size(); i++) {
        data[i] += 0.5 * static_cast<double>(i % 10);
        sum += data[i];
    }
#pragma omp parallel reduction(+ : bad, caught, passed)
    {
        int t = omp_get_thread_num();
        for (int i = 0; i < 500; i++)
            lists[t].push_back(i * t + once.values[i]);
        Wide *wide = new Wide;
        bad += reinterpret_cast<std::uintptr_t>(wide) % 128 != 0;
        wide->a[3] = t;
        delete wide;
        int *many = new int[100 + t]();
        for (int i = 0; i < 100; i++)
            bad += many[i] != 0;
        delete[] many;
        for (int i = 0; i < 20; i++) {
            try {
                passed += odd_only(i + t);
            } catch (const Refused &refused) {
                caught += refused.number;
            }
        }
    }
    long all = 0;
    for (const auto &list : lists)
        for (int v : list)
            all += v;
    std::string text = argc > 1 ? argv[1] : "none";
    std::printf("made %d sum %.1f all %ld bad %ld caught %ld passed %ld argument %s\n", made, sum, all, bad, caught,
                passed, text.c_str());
}
