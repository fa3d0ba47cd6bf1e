! target, target data, update and teams distribute on the host (OpenMP 5.1, 2.14).
program f_target
  use omp_lib
  implicit none
  integer :: a(100), b(100), i, s
  logical :: host
  a = [(i, i = 1, 100)]
  b = 0
  s = 0
  !$omp target data map(to: a) map(from: b)
  !$omp target map(from: host)
  host = omp_is_initial_device()
  do i = 1, 100
     b(i) = a(i) * 2
  end do
  !$omp end target
  !$omp target update from(b(1:10))
  !$omp target teams distribute parallel do reduction(+:s) map(tofrom: s)
  do i = 1, 100
     s = s + b(i)
  end do
  !$omp end target teams distribute parallel do
  !$omp end target data
  !$omp target enter data map(to: a)
  !$omp target
  a(1) = -5
  !$omp end target
  !$omp target exit data map(from: a)
  !$omp teams num_teams(3) reduction(+:s)
  s = s + 1000
  !$omp end teams
  print '(l2,3i8)', host, b(50), s, a(1)
end program
