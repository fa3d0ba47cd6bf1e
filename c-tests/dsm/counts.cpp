// Shared pointers count with atomic instructions where threads run, and ask the C library's variable whether any do.
#include <cstdio>
#include <memory>
#include <vector>
#include <sys/single_threaded.h>

int main() {
  auto shared = std::make_shared<std::vector<int>>(100, 1);
  int alone = 0;
  long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum, alone)
  {
    alone += __libc_single_threaded != 0;
    for (int i = 0; i < 100000; i++) {
      auto mine = shared;
      sum += (*mine)[i % 100];
    }
  }
  std::printf("%d alone, sum %ld, count %ld\n", alone, sum, shared.use_count());
}
