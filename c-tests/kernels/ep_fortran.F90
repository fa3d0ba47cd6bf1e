! Pairs of normal deviates counted by rings, as ep.c, in the manner of older Fortran programs: each thread works in a
! threadprivate common block, which lives in thread-local storage, and adds its counts to the sums one thread a time.
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

module deviates
  implicit none
  integer, parameter :: pairs = 512, rings = 10
  ! Lehmer's generator: x -> 16807 x mod 2^31 - 1, no product above 2^46.
  integer(8), parameter :: factor = 16807, modulus = 2147483647_8, seed = 271828183
  real(8) :: x(2*pairs)
  integer(8) :: own(0:rings - 1)
  common /storage/ x, own
  !$omp threadprivate(/storage/)

contains

  ! The generator's state before number `count`.
  pure integer(8) function skipped(count)
    integer(8), intent(in) :: count
    integer(8) :: left, power
    left = count
    power = factor
    skipped = seed
    do while (left > 0)
      if (mod(left, 2_8) == 1) skipped = mod(skipped*power, modulus)
      power = mod(power*power, modulus)
      left = left/2
    end do
  end function

  ! Block `number`: fills x, adds to the thread's counts and to the sums given.
  subroutine block(number, sum_x, sum_y)
    integer, intent(in) :: number
    real(8), intent(inout) :: sum_x, sum_y
    integer(8) :: state
    integer :: i, ring
    real(8) :: square, scale, a, b
    state = skipped(2_8*pairs*number)
    do i = 1, 2*pairs
      state = mod(factor*state, modulus)
      x(i) = 2*real(state, 8)/real(modulus, 8) - 1
    end do
    do i = 1, pairs
      square = x(2*i - 1)**2 + x(2*i)**2
      if (square > 1 .or. square == 0) cycle
      scale = sqrt(-2*log(square)/square)
      a = x(2*i - 1)*scale
      b = x(2*i)*scale
      ring = min(int(max(abs(a), abs(b))), rings - 1)
      own(ring) = own(ring) + 1
      sum_x = sum_x + a
      sum_y = sum_y + b
    end do
  end subroutine
end module

program ep_fortran
  use omp_lib
  use deviates
  implicit none
  integer, parameter :: most = 10000
  integer :: blocks, laps, lap, status, b
  integer(8) :: counts(0:rings - 1)
  real(8) :: sum_x, sum_y, serial_x, serial_y, began, expected
  real(8), allocatable :: seconds(:)
  character(len=32) :: word
  character :: size
  logical :: holds

  size = 'S'
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    size = merge(word(1:1), '?', len_trim(word) == 1)
  end if
  laps = merge(16, 3, size == 'A')
  status = 0
  if (command_argument_count() > 1) then
    call get_command_argument(2, word)
    read (word, *, iostat=status) laps
  end if
  if ((size /= 'S' .and. size /= 'A') .or. status /= 0 .or. laps < 1 .or. laps > most) then
    write (0, '(a)') 'usage: ep_fortran [S|A [LAPS]], LAPS from 1 to 10000'
    call exit(2)
  end if
  blocks = merge(2048, 256, size == 'A')
  allocate (seconds(laps))

  do lap = 1, laps
    sum_x = 0
    sum_y = 0
    counts = 0
    began = omp_get_wtime()
    !$omp parallel
    own = 0
    !$omp do SCHED reduction(+:sum_x, sum_y)
    do b = 0, blocks - 1
      call block(b, sum_x, sum_y)
    end do
    !$omp end do nowait
    !$omp critical
    counts = counts + own
    !$omp end critical
    !$omp end parallel
    seconds(lap) = omp_get_wtime() - began
  end do

  serial_x = 0
  serial_y = 0
  own = 0
  do b = 0, blocks - 1
    call block(b, serial_x, serial_y)
  end do
  write (*, '(a,1x,a)') 'ep_fortran', size
  write (*, '(a,2f14.6)') 'sums', sum_x, sum_y
  write (*, '(a,10(1x,i0))') 'counts', counts
  holds = all(counts == own) .and. abs(sum_x - serial_x) + abs(sum_y - serial_y) < 1d-8
  if (.not. holds) write (*, '(a)') 'FAILED: sums and counts equal those made serially'
  ! A disc in its square, within six standard deviations.
  expected = real(blocks, 8)*pairs*atan(1d0)
  if (abs(sum(counts) - expected) > 6*sqrt(expected*(1 - atan(1d0)))) then
    holds = .false.
    write (*, '(a)') 'FAILED: rate of acceptance'
  end if
  write (*, '(a)') merge('verified    ', 'not verified', holds)
  write (0, '(5a,2(i0,a),3(f0.6,a))') 'kernel=ep_fortran form=', FORM, ' size=', size, ' threads=', &
    omp_get_max_threads(), ' laps=', laps, ' seconds=', sum(seconds), ' first=', seconds(1), ' settled=', &
    median(seconds(laps/2 + 1:)), ''
  call exit(merge(0, 1, holds))

contains

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
