/* acc_* routines without a device answer as for the host (OpenACC 2.6, 3.2).
   hetmp-test: flags=-fopenacc -fno-openmp */
#include <openacc.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char a[64], b[64];
    memset(a, 5, sizeof a);
    memset(b, 0, sizeof b);
    printf("%d %d\n", acc_get_num_devices(acc_device_host), acc_get_num_devices(acc_device_nvidia));
    acc_set_device_type(acc_device_host);
    printf("%d\n", acc_get_device_type() == acc_device_host);
    acc_set_device_num(0, acc_device_host);
    printf("%d\n", acc_get_device_num(acc_device_host));
    printf("%d %d\n", acc_on_device(acc_device_host), acc_on_device(acc_device_not_host));
    printf("%d\n", acc_is_present(a, sizeof a));
    void *d = acc_copyin(a, sizeof a);
    printf("%d\n", d == a);
    acc_memcpy_to_device(b, a, sizeof a);
    printf("%d\n", b[63]);
    acc_copyout(a, sizeof a);
    printf("%d %d\n", acc_async_test(0), acc_async_test_all());
    acc_wait_all();
    acc_shutdown(acc_device_host);
    return 0;
}
