! threadprivate common blocks and module variables with copyin and copyprivate (OpenMP 5.1, 2.21.2).
module state
  implicit none
  integer, save :: counter = 7
  integer, allocatable, save :: list(:)
  !$omp threadprivate(counter, list)
end module

program f_threadprivate_copyin
  use omp_lib
  use state
  implicit none
  integer :: x, good
  real :: y(3)
  common /block/ x, y
  !$omp threadprivate(/block/)
  x = 11
  y = [1., 2., 3.]
  counter = 100
  good = 0
  call omp_set_dynamic(.false.)
  !$omp parallel num_threads(4) copyin(/block/, counter) reduction(+:good)
  if (x == 11 .and. y(3) == 3. .and. counter == 100) good = good + 1
  x = x + omp_get_thread_num()
  counter = omp_get_thread_num()
  allocate (list(omp_get_thread_num() + 1))
  list = omp_get_thread_num()
  !$omp end parallel
  !$omp parallel num_threads(4) reduction(+:good)
  if (x == 11 + omp_get_thread_num() .and. counter == omp_get_thread_num()) good = good + 1
  if (size(list) == omp_get_thread_num() + 1 .and. all(list == omp_get_thread_num())) good = good + 1
  deallocate (list)
  !$omp single
  counter = 77
  !$omp end single copyprivate(counter)
  if (counter == 77) good = good + 1
  !$omp end parallel
  print '(i4)', good
end program
