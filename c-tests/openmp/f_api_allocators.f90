! The default allocator from Fortran and allocators with traits (OpenMP 5.1, 3.13).
program f_api_allocators
  use omp_lib
  use iso_c_binding
  implicit none
  integer(omp_allocator_handle_kind) :: a
  type(omp_alloctrait) :: traits(2)
  integer :: x(50), i, total
  if (omp_get_default_allocator() /= omp_default_mem_alloc) stop 1
  call omp_set_default_allocator(omp_cgroup_mem_alloc)
  if (omp_get_default_allocator() /= omp_cgroup_mem_alloc) stop 2
  call omp_set_default_allocator(omp_default_mem_alloc)
  traits(1) = omp_alloctrait(omp_atk_alignment, 128)
  traits(2) = omp_alloctrait(omp_atk_pool_size, 1048576)
  a = omp_init_allocator(omp_default_mem_space, 2, traits)
  if (a == omp_null_allocator) stop 3
  total = 0
  x = 1
  !$omp parallel num_threads(4) firstprivate(x) allocate(a: x) reduction(+:total)
  if (mod(loc(x), 128_c_intptr_t) /= 0) stop 4
  do i = 1, 50
     total = total + x(i)
  end do
  !$omp end parallel
  call omp_destroy_allocator(a)
  print '(i6)', total
end program
