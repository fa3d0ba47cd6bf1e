/* The OpenACC profiling interface: which events the host device has, in which order callbacks run,
   what they are told, and how they are switched off (OpenACC 2.6, section 5).
   hetmp-test: flags=-fopenacc
   hetmp-test: threads=2 */
#include <acc_prof.h>
#include <openacc.h>
#include <stdio.h>

static void first(acc_prof_info *p, acc_event_info *e, acc_api_info *a)
{
    printf("event %d: %d %d %d %d %d, queue %ld %ld, lines %d %d; %d %d construct %d implicit %d "
           "info %ld; api %d %d %d %d\n",
           p->event_type, p->valid_bytes, p->version, (int) p->device_type, p->device_number,
           p->thread_id, p->async, p->async_queue, p->line_no, p->func_end_line_no,
           e->event_type, e->other_event.valid_bytes, e->other_event.parent_construct,
           e->other_event.implicit, (long) e->other_event.tool_info, a->device_api, a->valid_bytes,
           (int) a->device_type, a->vendor);
    e->other_event.tool_info = (void *) (long) (p->event_type * 100);
}

static void second(acc_prof_info *p, acc_event_info *e, acc_api_info *a)
{
    (void) e;
    (void) a;
    printf("second callback of event %d\n", p->event_type);
}

static int a[10];

static void constructs(void)
{
    int i;
#pragma acc parallel loop copy(a)
    for (i = 0; i < 10; i++)
        a[i] += i;
#pragma acc data copyin(a)
    {
#pragma acc update self(a) async(3)
#pragma acc wait
#pragma acc host_data use_device(a)
        puts("in the regions");
    }
#pragma acc enter data create(a)
#pragma acc exit data delete(a)
#pragma acc parallel if(0)
    a[0] = 1;
}

int main(void)
{
    int e;
    for (e = 1; e < acc_ev_last; e++) {
        acc_prof_register((acc_event_t) e, first, acc_reg);
        acc_prof_register((acc_event_t) e, second, acc_reg);
    }
    puts("all events");
    constructs();
    puts("one callback off");
    acc_prof_unregister(acc_ev_compute_construct_start, second, acc_toggle);
    acc_prof_unregister(acc_ev_compute_construct_end, first, acc_reg);
    constructs();
    puts("off in this thread");
    acc_prof_unregister(acc_ev_none, NULL, acc_toggle_per_thread);
    constructs();
    puts("on again, but not at all");
    acc_prof_register(acc_ev_none, NULL, acc_toggle_per_thread);
    acc_prof_unregister(acc_ev_none, NULL, acc_toggle);
    constructs();
    puts("on, but not updates");
    acc_prof_register(acc_ev_none, NULL, acc_toggle);
    acc_prof_unregister(acc_ev_update_start, NULL, acc_toggle);
    constructs();
    return 0;
}
