// What ordinary programs do around regions, and in them: signal handlers, files, locks of C++ and of POSIX, guards of static
// variables, the working directory, the locale, memory until there is none left. Regions that do what other nodes cannot do
// stay at the origin; the others cross. The argument is the name of a file.
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static long cells[4][512];

static void tick(int)
{
    ticks++;
}

// A timer fires while threads of all nodes write.
static void signals()
{
    struct sigaction action = {};
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    itimerval every = {{0, 2000}, {0, 2000}}, never = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    for (int round = 0; round < 200 || ticks < 3; round++) {
#pragma omp parallel num_threads(4)
        {
            long *mine = cells[omp_get_thread_num()];
            for (int i = 0; i < 512; i++)
                mine[i] += round < 200;
        }
    }
    setitimer(ITIMER_REAL, &never, nullptr);
    long sum = 0;
    for (auto &row : cells)
        for (long cell : row)
            sum += cell;
    std::printf("handler ran: %d, sum %ld\n", ticks >= 3, sum);
}

static pthread_mutex_t posix = PTHREAD_MUTEX_INITIALIZER;
static std::mutex standard;
static long guarded[2];

struct Once {
    long value;
    Once() : value(guarded[0] + 1) { made++; }
    static int made;
};
int Once::made;

static long once()
{
    static Once only;
    return only.value;
}

static void locks()
{
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&posix);
        guarded[0]++;
        pthread_mutex_unlock(&posix);
        std::lock_guard<std::mutex> hold(standard);
        guarded[1]++;
    }
    long same = once();
    long first = 0;
#pragma omp parallel num_threads(4) reduction(+ : first)
    first += once() == same;
    std::printf("locked %ld %ld, made %d, the same for %ld\n", guarded[0], guarded[1], Once::made, first);
}

static void files(const char *name)
{
    std::string folder = std::string(name) + ".folder";
    umask(027);
    mkdir(folder.c_str(), 0777);
    if (chdir(folder.c_str()))
        std::puts("chdir failed");
    setlocale(LC_ALL, "C.UTF-8");
    int written = 0;
#pragma omp parallel num_threads(4) reduction(+ : written)
    {
        std::string mine = "part" + std::to_string(omp_get_thread_num());
        if (FILE *file = std::fopen(mine.c_str(), "w")) {
            std::fprintf(file, "%d of %d %.1f\n", omp_get_thread_num(), omp_get_num_threads(), 1.5);
            written += !std::fclose(file);
        }
    }
    std::printf("%d files", written);
    for (int i = 0; i < 4; i++) {
        std::string part = "part" + std::to_string(i);
        char line[64] = "";
        struct stat about = {};
        if (FILE *file = std::fopen(part.c_str(), "r")) {
            if (!std::fgets(line, sizeof line, file))
                std::puts("empty");
            std::fclose(file);
        }
        stat(part.c_str(), &about);
        line[sizeof line - 1] = 0;
        std::printf(", %o %.*s", about.st_mode & 0777, 10, line);
        unlink(part.c_str());
    }
    std::printf(", locale %s\n", setlocale(LC_ALL, nullptr));
    if (chdir("/") || rmdir(folder.c_str()))
        std::puts("the folder stays");
}

// Blocks until there is no room for another; then the program goes on with what it has.
static void memory()
{
    constexpr std::size_t size = std::size_t(1) << 40;
    void *large = std::malloc(size);
    long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        long *small = static_cast<long *>(std::malloc(5000 * sizeof(long)));
        for (int i = 0; i < 5000; i++)
            small[i] = i;
        for (int i = 0; i < 5000; i++)
            sum += small[i];
        std::free(small);
    }
    std::printf("memory: sum %ld\n", sum);
    std::free(large);
}

int main(int argc, char **argv)
{
    signals();
    locks();
    if (argc > 1)
        files(argv[1]);
    memory();
}
