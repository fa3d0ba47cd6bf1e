! Cancellation of do, sections, parallel and taskgroup from Fortran (OpenMP 5.1, 2.20).
! hetmp-test: env=OMP_CANCELLATION=true
program f_cancel
  use omp_lib
  implicit none
  integer :: i, twice, hits(10000), after, past, done
  if (.not. omp_get_cancellation()) stop 1
  hits = 0; after = 0; past = 0; done = 0
  !$omp parallel num_threads(4)
  !$omp do schedule(dynamic)
  do i = 1, 10000
     hits(i) = hits(i) + 1
     !$omp cancellation point do
     if (i == 20) then
        !$omp cancel do
     end if
  end do
  !$omp end do
  !$omp atomic
  after = after + 1
  !$omp single
  !$omp taskgroup
  !$omp task shared(past)
  !$omp cancel taskgroup
  past = past + 1
  !$omp end task
  !$omp end taskgroup
  !$omp end single
  !$omp barrier
  !$omp cancel parallel
  !$omp atomic
  past = past + 1
  !$omp end parallel
  !$omp parallel num_threads(4) reduction(+:done)
  done = done + 1
  !$omp end parallel
  twice = count(hits > 1)
  if (sum(hits) >= 10000) stop 2
  print '(4i4)', twice, after, past, done
end program
