// threadprivate objects with constructors and copyin assignment, static members among them (OpenMP 5.1, 2.21.2).
#include <string>
#include "check.h"

struct tracked {
    std::string text;
    tracked() : text("new") {}
    tracked &operator=(const tracked &o)
    {
        text = o.text + "!";
        return *this;
    }
};

extern tracked object; // the directive must come before the first use, which a constructor call is
#pragma omp threadprivate(object)
tracked object;

struct holder {
    static int member;
#pragma omp threadprivate(member)
};
int holder::member = 3;

int main()
{
    int fresh = 0;
#pragma omp parallel num_threads(4) reduction(+ : fresh)
    {
        fresh += object.text == "new";
        CHECK(holder::member == 3);
        holder::member += omp_get_thread_num();
        object.text = std::to_string(omp_get_thread_num());
    }
#pragma omp parallel num_threads(4)
    {
        CHECK(object.text == std::to_string(omp_get_thread_num()));
        CHECK(holder::member == 3 + omp_get_thread_num());
    }
    object.text = "main";
    int copied = 0;
#pragma omp parallel num_threads(4) copyin(object) reduction(+ : copied)
    copied += object.text == (omp_get_thread_num() ? "main!" : "main");
    std::printf("%d %d\n", fresh, copied);
    return check_end();
}
