! Fortran on several nodes: a threadprivate common block with copyin and copyprivate, reductions, a dynamic loop,
! critical and atomic, an allocatable array, and a named common block that all threads share.
program common_blocks
  use omp_lib
  implicit none
  integer :: seed, mine(50)
  common /own/ seed, mine
  !$omp threadprivate(/own/)
  double precision :: table(4000)
  integer :: hits
  common /all/ table, hits
  double precision :: total, largest
  double precision, allocatable :: work(:, :)
  integer :: i, j, t, copies

  call omp_set_num_threads(4)
  seed = 11
  mine = 2
  hits = 0
  total = 0
  largest = 0
  copies = 0
  allocate (work(40, 30))
  !$omp parallel do
  do i = 1, 4000
     table(i) = sqrt(dble(i))
  end do
  !$omp parallel copyin(/own/) private(t, i) reduction(+:total) reduction(max:largest)
  t = omp_get_thread_num()
  seed = seed + t
  mine(1:t + 1) = seed
  !$omp do schedule(dynamic, 9)
  do i = 1, 4000
     total = total + table(i)
     largest = max(largest, table(i)*mod(i, 7))
  end do
  !$omp critical
  hits = hits + sum(mine)
  !$omp end critical
  !$omp end parallel
  !$omp parallel private(i) reduction(+:copies)
  do i = 1, 10
     !$omp single
     seed = 100*i
     mine = i
     !$omp end single copyprivate(/own/)
     copies = copies + seed + mine(50)
  end do
  !$omp end parallel
  !$omp parallel do collapse(2) private(j)
  do j = 1, 30
     do i = 1, 40
        work(i, j) = i*j
     end do
  end do
  print '(a, f12.3, f10.3)', 'total ', total, largest
  print '(a, i8, i8, f10.1)', 'hits ', hits, copies, sum(work)
end program
