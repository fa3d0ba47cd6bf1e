/* System calls on memory that another node wrote last. The argument is the name of a file to write. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { N = 1 << 20 };
static char a[N], b[40 * N];
static char name[4096], command[8192];
static volatile sig_atomic_t alarms, faults, refusals;

static char at(long i, int seed) { return (char)(i * 7 + i / 4096 + seed); }

/* The region's last thread, which is on the last node, writes all of `p`. */
static void elsewhere(char *p, long n, int seed) {
#pragma omp parallel for schedule(static)
  for (int t = 0; t < 4; t++)
    if (t == 3)
      for (long i = 0; i < n; i++) p[i] = at(i, seed);
}

static int same_from(const char *p, long first, long n, int seed) {
  for (long i = first; i < first + n; i++)
    if (p[i] != at(i, seed)) return 0;
  return 1;
}

static int same(const char *p, long n, int seed) { return same_from(p, 0, n, seed); }

static void said(const char *what, long result, int good) {
  printf("%s: %ld %s\n", what, result, good ? "good" : "bad");
}

static void on_alarm(int signal) {
  (void)signal;
  alarms = alarms + 1;
  /* The page may be on another node. */
  a[100] = 'x';
}

static void on_fault(int signal) {
  (void)signal;
  faults = faults + 1;
}

static void on_refusal(int signal, siginfo_t *info, void *context) {
  (void)context;
  if (signal == SIGSYS && info->si_code <= 0) refusals = refusals + 1;
  /* The page may be on another node, and so may that of the text. */
  a[200] = 'y';
  if (access(name, R_OK) != 0) refusals = -1;
}

static void *thread(void *p) {
  snprintf(p, 100, "a thread of the program's");
  return p;
}

static int thread_of_c11(void *p) {
  return (int)read(*(int *)p, b + 4096, 100) - 200;
}

static void files(void) {
  elsewhere(a, N, 1);
  int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  long n = write(fd, a, N);
  said("write", n, 1);
  elsewhere(b, N, 2);
  n = pread(fd, b, N, 0);
  said("pread", n, same(b, N, 1));
  elsewhere(b, N, 2);
  lseek(fd, 0, SEEK_SET);
  n = read(fd, b, N);
  said("read", n, same(b, N, 1));
  elsewhere(a, N, 3);
  struct iovec parts[3] = {{a, 5000}, {a + 5000, 100000}, {a + 105000, N - 105000}};
  n = pwritev(fd, parts, 3, 0);
  said("pwritev", n, 1);
  elsewhere(b, N, 4);
  struct iovec to[2] = {{b, 70001}, {b + 70001, N - 70001}};
  n = preadv(fd, to, 2, 0);
  said("preadv", n, same(b, N, 3));
  close(fd);

  FILE *f = fopen(name, "w");
  elsewhere(a, N, 5);
  n = fwrite(a, 1, N, f);
  fclose(f);
  said("fwrite", n, 1);
  elsewhere(b, N, 6);
  f = fopen(name, "r");
  n = fread(b, 1, N, f);
  fclose(f);
  said("fread", n, same(b, N, 5));

  /* More than is copied at a time. */
  elsewhere(b, sizeof b, 7);
  fd = open(name, O_RDWR | O_TRUNC);
  n = write(fd, b, sizeof b);
  said("large write", n, 1);
  elsewhere(b, sizeof b, 8);
  lseek(fd, 0, SEEK_SET);
  n = read(fd, b, sizeof b);
  said("large read", n, same(b, sizeof b, 7));
  close(fd);

  /* Structures and texts across two pages. */
  struct stat *s = (struct stat *)(b + 8192 - 24);
  elsewhere(b, N, 9);
  n = stat(name, s);
  said("stat", n, s->st_size == sizeof b);
  elsewhere(b, N, 10);
  char *folder = b + 4093;
  said("getcwd", 0, getcwd(folder, 4096) == folder && folder[0] == '/');
  char *copy = b + 20479 - strlen(name);
  elsewhere(b, N, 11);
#pragma omp parallel for schedule(static)
  for (int t = 0; t < 4; t++)
    if (t == 3) memcpy(copy, name, strlen(name) + 1);
  said("access", access(copy, R_OK), 1);

  /* Direct input and output want buffers at multiples of a page or a sector. Not all file systems have them. */
  static _Alignas(4096) char direct[12 * 4096];
  fd = open(name, O_RDWR | O_TRUNC | O_DIRECT);
  for (int step = 512; fd >= 0 && step <= 4096; step *= 8) {
    elsewhere(direct, sizeof direct, step);
    n = pwrite(fd, direct + 4096, 4096, 0) + pwrite(fd, direct + 8192, 5 * 4096, 4096);
    struct iovec halves[2] = {{direct + 4096 * 7, 4096}, {direct + 4096 * 8, 4096}};
    n += pwritev(fd, halves, 2, 6 * 4096);
    elsewhere(direct, sizeof direct, 1);
    struct iovec places[2] = {{direct + step, 4096}, {direct + step + 4096, 4096}};
    long m = preadv(fd, places, 2, 0);
    m += pread(fd, direct + step + 8192, 6 * 4096, 8192);
    char *back = direct + step;
    int good = 1;
    for (long i = 0; i < 8 * 4096; i++) good &= back[i] == at(i + 4096, step);
    said("direct", n, good || m < 0);
  }
  close(fd);
}

static void messages(void) {
  int s[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, s);
  elsewhere(a, 65536, 8);
  elsewhere(b, 65536, 9);
  struct iovec from[2] = {{a, 100}, {a + 100, 60000}};
  struct msghdr m = {.msg_iov = from, .msg_iovlen = 2};
  long n = sendmsg(s[0], &m, 0);
  said("sendmsg", n, 1);
  struct iovec to[2] = {{b, 40000}, {b + 40000, 20100}};
  struct msghdr r = {.msg_iov = to, .msg_iovlen = 2};
  n = recvmsg(s[1], &r, MSG_WAITALL);
  said("recvmsg", n, same(b, 60100, 8));
  struct pollfd *p = (struct pollfd *)(b + 3 * 4096 - 4);
  elsewhere(b, N, 1);
  p->fd = s[0];
  p->events = POLLOUT;
  n = poll(p, 1, 0);
  said("poll", n, p->revents == POLLOUT);
  fd_set *set = (fd_set *)(b + 5 * 4096 - 8);
  elsewhere(b, N, 2);
  FD_ZERO(set);
  FD_SET(s[0], set);
  n = select(s[0] + 1, 0, set, 0, 0);
  said("select", n, FD_ISSET(s[0], set) != 0);
  close(s[0]);
  close(s[1]);
}

/* A call that fails when the kernel has taken the message would take the next one when it is made again. */
static void queues(void) {
  enum { LEN = 8000 };
  int q = msgget(IPC_PRIVATE, IPC_CREAT | 0600), good = 1;
  struct {
    long kind;
    char text[LEN];
  } *message = (void *)(b + 4000);
  long n = 0;
  for (int i = 0; i < 2; i++) {
    elsewhere(b, 5 * 4096, i);
    message->kind = i + 1;
    n += msgsnd(q, message, LEN, 0);
    elsewhere(b, 5 * 4096, 7);
    n += msgrcv(q, message, LEN, 0, IPC_NOWAIT);
    good &= message->kind == i + 1 && same_from(b, 4008, LEN, i);
    good &= b[3999] == at(3999, 7) && b[4008 + LEN] == at(4008 + LEN, 7);
  }
  msgctl(q, IPC_RMID, 0);
  said("msgrcv", n, good);
  char queue[50];
  snprintf(queue, sizeof queue, "/hetmp-test-%d", (int)getpid());
  struct mq_attr of = {.mq_maxmsg = 4, .mq_msgsize = LEN};
  mqd_t m = mq_open(queue, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &of);
  mq_unlink(queue);
  unsigned *level = (unsigned *)(a + 4094);
  n = 0;
  for (int i = 0; i < 2; i++) {
    elsewhere(b, 5 * 4096, i);
    n += mq_send(m, b, LEN, i + 1);
    elsewhere(b, 5 * 4096, 7);
    elsewhere(a, 3 * 4096, 7);
    n += mq_receive(m, b, LEN, level);
    good &= *level == (unsigned)i + 1 && same(b, LEN, i) && b[LEN] == at(LEN, 7);
  }
  mq_close(m);
  said("mq_receive", n, good);
  int in = open(name, O_RDONLY), out = open("/dev/null", O_WRONLY);
  off_t *from = (off_t *)(b + 8192 - 4);
  elsewhere(b, 5 * 4096, 1);
  *from = 100;
  elsewhere(b + 8192, 4096, 1);
  memset(b + 8192, 0, 4);
  elsewhere(a, 4096, 1);
  n = sendfile(out, in, from, 1000);
  said("sendfile", n, *from == 1100);
  close(in);
  close(out);
}

static void bad_addresses(void) {
  int s[2];
  socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
  long n = writev(s[0], 0, 1);
  said("writev", n, errno == EFAULT);
  n = sendmsg(s[0], 0, errno = 0);
  said("sendmsg", n, errno == EFAULT);
  n = syscall(SYS_rt_sigaction, SIGUSR1, (void *)1, errno = 0, 8L);
  said("sigaction", n, errno == EFAULT);
  /* A private page that is no memory, in a list with a shared one. */
  void *none = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  elsewhere(a, 4096, 1);
  struct iovec parts[2] = {{a, 100}, {none, 100}};
  n = writev(s[0], parts, 2);
  said("writev", n, n == 100 || errno == EFAULT);
  close(s[0]);
  close(s[1]);
  /* The time is over behind the first message. */
  socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
  for (int i = 0; i < 2; i++) send(s[0], "abc", 3, 0);
  elsewhere(a, 2 * 4096, 1);
  struct iovec part = {a, 100};
  struct mmsghdr both[2] = {{.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}}};
  both[1] = both[0];
  struct timespec limit = {0, 0};
  n = recvmmsg(s[1], both, 2, 0, &limit);
  said("recvmmsg", n, both[0].msg_len == 3 && a[0] == 'a');
  close(s[0]);
  close(s[1]);
}

static void processes(void) {
  extern char **environ;
  snprintf(command, sizeof command, "echo from a shell");
  setenv("LD_PRELOAD", "", 1);
  setenv("HETMP_TEST_WORD", "word", 1);
  /* The pages of the command and of the environment's texts go to another node. */
  char *text = getenv("HETMP_TEST_WORD");
#pragma omp parallel for schedule(static)
  for (int t = 0; t < 4; t++)
    if (t == 3) {
      command[6000] = 1;
      command[0] = 'e';
      text[0] = 'W';
    }
  fflush(stdout);
  int status = system(command);
  said("system", status, 1);
  fflush(stdout);
  FILE *f = popen("echo $HETMP_TEST_WORD", "r");
  char line[100] = "";
  fgets(line, sizeof line, f);
  said("popen", pclose(f), strcmp(line, "Word\n") == 0);
  pid_t child;
  char *arguments[] = {command + 4096, "-c", "exit 7", 0};
#pragma omp parallel for schedule(static)
  for (int t = 0; t < 4; t++)
    if (t == 3) memcpy(command + 4096, "sh", 3);
  int error = posix_spawnp(&child, command + 4096, 0, 0, arguments, environ);
  waitpid(child, &status, 0);
  said("posix_spawnp", error, WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void signals(void) {
  struct sigaction action = {.sa_handler = on_alarm};
  sigfillset(&action.sa_mask);
  sigaction(SIGALRM, &action, 0);
  sigset_t all, old, none;
  sigfillset(&all);
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  elsewhere(a, N, 2);
  said("all signals blocked", 0, same(a, N, 2));
  elsewhere(a, N, 3);
  alarm(1);
  sigsuspend(&none);
  pthread_sigmask(SIG_SETMASK, &old, 0);
  said("alarm", alarms, a[100] == 'x' && a[101] == at(101, 3));
  struct sigaction before;
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &before);
  raise(SIGSEGV);
  elsewhere(a, N, 4);
  said("a sent SIGSEGV", faults, before.sa_handler == SIG_DFL && same(a, N, 4));
  struct sigaction refusal = {.sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO}, sys;
  sigaction(SIGSYS, &refusal, 0);
  elsewhere(a, N, 5);
  raise(SIGSYS);
  kill(getpid(), SIGSYS);
  sigaction(SIGSYS, 0, &sys);
  said("a sent SIGSYS", refusals, a[200] == 'y' && a[201] == at(201, 5));
  said("its action", sys.sa_flags & SA_SIGINFO, sys.sa_sigaction == on_refusal);
  signal(SIGSYS, SIG_IGN);
  raise(SIGSYS);
  said("an ignored SIGSYS", refusals, 1);
  static char stack[4 * 4096];
  stack_t mine = {.ss_sp = stack, .ss_size = sizeof stack}, got;
  sigaltstack(&mine, 0);
  sigaltstack(0, &got);
  said("sigaltstack", 0, got.ss_sp == stack);
}

static void threads(void) {
  void *got;
  for (int i = 0; i < 20; i++) {
    pthread_t p;
    elsewhere(b, 2 * 4096, i);
    pthread_create(&p, 0, thread, b + 4090);
    pthread_join(p, &got);
  }
  said("threads", 0, got == b + 4090 && strcmp(got, "a thread of the program's") == 0);
  thrd_t c11;
  int result, zero = open("/dev/zero", O_RDONLY);
  elsewhere(b, 3 * 4096, 1);
  said("thrd_create", thrd_create(&c11, thread_of_c11, &zero), 1);
  thrd_join(c11, &result);
  said("thrd_join", result, b[4096] == 0 && b[4195] == 0 && b[4196] == at(4196, 1));
  close(zero);
  struct timespec *time = (struct timespec *)(b + 4096 - 8);
  elsewhere(b, N, 1);
  time->tv_sec = 0;
  time->tv_nsec = 1000000;
  said("nanosleep", nanosleep(time, time), 1);
  /* A lock of POSIX, whose word is on another node. */
  static struct {
    char page[4096];
    pthread_mutex_t lock;
    long sum;
  } shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
  elsewhere(shared.page, 4096, 1);
  for (int i = 0; i < 100; i++) {
    pthread_mutex_lock(&shared.lock);
    shared.sum += i;
    pthread_mutex_unlock(&shared.lock);
  }
  said("a lock", shared.sum, 1);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  snprintf(name, sizeof name, "%s", arguments[1]);
  files();
  messages();
  queues();
  bad_addresses();
  processes();
  signals();
  threads();
  unlink(name);
  return 0;
}
