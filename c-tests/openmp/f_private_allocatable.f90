! private, firstprivate and lastprivate of allocatable and derived types (OpenMP 5.1, 2.21.4).
program f_private_allocatable
  use omp_lib
  implicit none
  integer, allocatable :: a(:), f(:), l(:)
  type pair
     integer :: n
     integer, allocatable :: v(:)
  end type
  type(pair) :: p
  integer :: i, good
  allocate (a(5), l(3))
  f = [1, 2, 3, 4]
  p = pair(2, [7, 8])
  a = -1; l = 0; good = 0
  !$omp parallel num_threads(4) private(a) firstprivate(f, p) reduction(+:good)
  if (.not. allocated(a)) stop 1
  if (size(a) /= 5) stop 2
  a = omp_get_thread_num()
  if (sum(f) == 10 .and. p%n == 2 .and. all(p%v == [7, 8])) good = good + 1
  f = omp_get_thread_num()
  p%v = omp_get_thread_num()
  !$omp barrier
  if (all(a == omp_get_thread_num()) .and. all(f == a(1)) .and. all(p%v == a(1))) good = good + 1
  !$omp do lastprivate(l) schedule(dynamic)
  do i = 1, 40
     l = i
  end do
  !$omp end parallel
  if (any(f /= [1, 2, 3, 4]) .or. any(a /= -1)) stop 3
  print '(4i4)', good, l
end program
