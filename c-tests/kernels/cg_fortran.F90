! Conjugate gradients as Fortran programs write them: one parallel region a solution, its scalars shared,
! a loop with a reduction for each scalar product. The matrix is that of a seven-point star on a cube, in rows of columns.
! Output and arguments as the C kernels: NAME [S|A [LAPS]]; see kernel.h.
! hetmp-test: forms=none,runtime,dynamic
! hetmp-test: threads=1,2,3
! hetmp-test: args=S

#if defined FORM_RUNTIME
#define SCHED schedule(runtime)
#define FORM 'runtime'
#elif defined FORM_DYNAMIC
#define SCHED schedule(dynamic)
#define FORM 'dynamic'
#else
#define SCHED
#define FORM 'none'
#endif

program cg_fortran
  use omp_lib
  implicit none
  integer, parameter :: iterations = 25, most = 10000
  integer :: edge, n, laps, lap, status, row, k
  integer, allocatable :: first(:), column(:)
  real(8), allocatable :: value(:), x(:), z(:), p(:), q(:), r(:), seconds(:)
  real(8) :: rho, old, d, zeta, xz, zz, began, residual
  character(len=32) :: word
  character :: size
  logical :: holds

  size = 'S'
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    size = merge(word(1:1), '?', len_trim(word) == 1)
  end if
  laps = merge(40, 4, size == 'A')
  status = 0
  if (command_argument_count() > 1) then
    call get_command_argument(2, word)
    read (word, *, iostat=status) laps
  end if
  if ((size /= 'S' .and. size /= 'A') .or. status /= 0 .or. laps < 1 .or. laps > most) then
    write (0, '(a)') 'usage: cg_fortran [S|A [LAPS]], LAPS from 1 to 10000'
    call exit(2)
  end if
  edge = merge(44, 12, size == 'A')
  n = edge**3
  allocate (first(n + 1), column(7*n), value(7*n), x(n), z(n), p(n), q(n), r(n), seconds(laps))
  call make_matrix()
  x = 1

  holds = .true.
  zeta = 0
  do lap = 1, laps
    began = omp_get_wtime()
    call solve()
    seconds(lap) = omp_get_wtime() - began
    xz = 0
    zz = 0
    residual = 0
    do row = 1, n
      d = x(row)
      do k = first(row), first(row + 1) - 1
        d = d - value(k)*z(column(k))
      end do
      residual = residual + d*d
      xz = xz + x(row)*z(row)
      zz = zz + z(row)*z(row)
    end do
    holds = holds .and. residual <= 1d-16*sum(x*x)
    zeta = 1/xz
    x = z/sqrt(zz)
  end do
  ! The smallest eigenvalue of the star, by the sines of its edge, plus the shift: an iteration from above.
  d = 1.5d0 + 12*sin(acos(-1d0)/(2*(edge + 1)))**2
  write (*, '(a,1x,a)') 'cg_fortran', size
  write (*, '(a,es16.9)') 'zeta', zeta
  if (.not. holds) write (*, '(a)') 'FAILED: A z = x'
  if (laps > 1 .and. zeta < d*(1 - 1d-9)) then
    holds = .false.
    write (*, '(a)') 'FAILED: no eigenvalue is below the smallest'
  end if
  write (*, '(a)') merge('verified    ', 'not verified', holds)
  write (0, '(5a,2(i0,a),3(f0.6,a))') 'kernel=cg_fortran form=', FORM, ' size=', size, ' threads=', &
    omp_get_max_threads(), ' laps=', laps, ' seconds=', sum(seconds), ' first=', seconds(1), ' settled=', &
    median(seconds(laps/2 + 1:)), ''
  call exit(merge(0, 1, holds))

contains

  subroutine make_matrix()
    integer :: i, j, l
    k = 0
    row = 0
    do l = 1, edge
      do j = 1, edge
        do i = 1, edge
          row = row + 1
          first(row) = k + 1
          if (l > 1) call put(row - edge*edge, -1d0)
          if (j > 1) call put(row - edge, -1d0)
          if (i > 1) call put(row - 1, -1d0)
          call put(row, 7.5d0)
          if (i < edge) call put(row + 1, -1d0)
          if (j < edge) call put(row + edge, -1d0)
          if (l < edge) call put(row + edge*edge, -1d0)
        end do
      end do
    end do
    first(n + 1) = k + 1
  end subroutine

  subroutine put(where, what)
    integer, intent(in) :: where
    real(8), intent(in) :: what
    k = k + 1
    column(k) = where
    value(k) = what
  end subroutine

  subroutine solve()
    integer :: j, i, iteration
    real(8) :: alpha, beta, total
    rho = 0
    !$omp parallel private(j, i, iteration, alpha, beta, total)
    !$omp do SCHED reduction(+:rho)
    do j = 1, n
      z(j) = 0
      r(j) = x(j)
      p(j) = x(j)
      rho = rho + r(j)*r(j)
    end do
    !$omp end do
    do iteration = 1, iterations
      !$omp single
      old = rho
      rho = 0
      d = 0
      !$omp end single
      !$omp do SCHED reduction(+:d)
      do j = 1, n
        total = 0
        do i = first(j), first(j + 1) - 1
          total = total + value(i)*p(column(i))
        end do
        q(j) = total
        d = d + p(j)*total
      end do
      !$omp end do
      alpha = old/d
      !$omp do SCHED reduction(+:rho)
      do j = 1, n
        z(j) = z(j) + alpha*p(j)
        r(j) = r(j) - alpha*q(j)
        rho = rho + r(j)*r(j)
      end do
      !$omp end do
      beta = rho/old
      !$omp do SCHED
      do j = 1, n
        p(j) = r(j) + beta*p(j)
      end do
      !$omp end do
    end do
    !$omp end parallel
  end subroutine

  real(8) function median(values)
    real(8), intent(in) :: values(:)
    real(8) :: sorted(ubound(values, 1)), keep
    integer :: a, b
    sorted = values
    do a = 2, ubound(sorted, 1)
      keep = sorted(a)
      b = a - 1
      do while (b >= 1)
        if (sorted(b) <= keep) exit
        sorted(b + 1) = sorted(b)
        b = b - 1
      end do
      sorted(b + 1) = keep
    end do
    a = ubound(sorted, 1)
    median = 0.5d0*(sorted((a + 1)/2) + sorted(a/2 + 1))
  end function
end program
