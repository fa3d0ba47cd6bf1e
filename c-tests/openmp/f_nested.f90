! Nested regions from Fortran with contained procedures and reductions (OpenMP 5.1, 2.6).
program f_nested
  use omp_lib
  implicit none
  integer :: total
  total = 0
  call omp_set_max_active_levels(2)
  !$omp parallel num_threads(3) reduction(+:total)
  total = total + inner(omp_get_thread_num())
  !$omp end parallel
  print '(i6)', total
contains
  integer function inner(outer)
    integer, intent(in) :: outer
    integer :: n
    n = 0
    !$omp parallel num_threads(2) reduction(+:n)
    if (omp_get_ancestor_thread_num(1) /= outer) stop 1
    if (omp_get_num_threads() /= 2) stop 2
    n = n + outer * 10 + omp_get_thread_num()
    !$omp end parallel
    inner = n
  end function
end program
