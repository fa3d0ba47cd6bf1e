/* C++ objects with constructors are symmetric, too: constructed before shmem_init, changed by others afterwards, and
 * destroyed after shmem_finalize.
 * shmem-test: builds=pie nopie */
#include "shtest.h"
#include <string>
#include <vector>

struct Point {
    double x, y;
    int made;
    Point() : x(1.5), y(2.5), made(7) {}
    ~Point();
};

static Point point;
static Point *at_end = nullptr;
static std::string name = std::string("a name too long to be kept in place") + "!";
static std::vector<int> numbers(100, 9);
template <typename T> struct Holder { static T value; };
template <typename T> T Holder<T>::value = T(31);

Point::~Point() {
    if (this == at_end && (made != 7 || x < 100)) {
        std::printf("FAILED: destroyed with %g and %d\n", x, made);
        std::fflush(stdout);
        _Exit(1);
    }
}

static Point &local() {
    static Point object;
    return object;
}

int main() {
    name += "?";
    numbers.push_back(4);
    local().x = 3;
    test_begin();
    CHECK(point.x == 1.5 && point.y == 2.5 && point.made == 7);
    CHECK(name == "a name too long to be kept in place!?");
    CHECK(numbers.size() == 101 && numbers[50] == 9 && numbers.back() == 4);
    CHECK(Holder<long>::value == 31 && local().x == 3 && local().y == 2.5);
    shmem_barrier_all();
    shmem_double_p(&point.x, 100 + me, next);
    shmem_long_p(&Holder<long>::value, 200 + me, next);
    shmem_double_p(&local().y, 300 + me, next);
    shmem_barrier_all();
    CHECK(point.x == 100 + prev && Holder<long>::value == 200 + prev && local().y == 300 + prev);
    name.append(1000, 'x');
    numbers.resize(100000, 1);
    CHECK(name.size() == 1037 && numbers[99999] == 1);
    at_end = &point;
    return test_end("statics_cxx");
}
