! scr DIR EXPECT LAST: restarts from checkpoint EXPECT (0 means no restart) and takes checkpoints
! up to LAST.
program scr
  use mpi, only: MPI_COMM_WORLD, MPI_INTEGER, MPI_MAX, MPI_IN_PLACE
  implicit none
  include 'scrf.h'
  integer, parameter :: n = 1000
  integer :: ierr, rank, expect, last, step, flag, failed = 0
  character(200) :: dir, arg
  character(SCR_MAX_FILENAME) :: name, started, file, value
  character(3) :: short

  call get_command_argument(1, dir)
  call get_command_argument(2, arg)
  read (arg, *) expect
  call get_command_argument(3, arg)
  read (arg, *) last
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call scr_need_checkpoint(flag, ierr)
  call yes(ierr /= SCR_SUCCESS, 'a call before SCR_INIT')
  call scr_config('SCR_PREFIX='//trim(dir), value, ierr)
  call good('SCR_CONFIG')
  call scr_config('SCR_PREFIX', value, ierr)
  call good('SCR_CONFIG, asked')
  call yes(value == dir, 'SCR_PREFIX')
  call scr_config('=5', value, ierr)
  call yes(ierr /= SCR_SUCCESS, 'a parameter without a name')
  call scr_init(ierr)
  call good('SCR_INIT')
  call scr_have_restart(flag, name, ierr)
  call good('SCR_HAVE_RESTART')
  step = 0
  if (flag /= 0) then
    read (name, '(4x, i4)') step
    call scr_have_restart(flag, short, ierr)
    call yes(ierr /= SCR_SUCCESS, 'a variable that is too short')
    call scr_start_restart(started, ierr)
    call good('SCR_START_RESTART')
    call yes(started == name, 'the name of the restart')
    call scr_route_file(own(), file, ierr)
    call good('SCR_ROUTE_FILE of a restart')
    call get()
    call scr_complete_restart(1, ierr)
    call good('SCR_COMPLETE_RESTART')
  end if
  call yes(step == expect, 'the restart')
  do while (step < last)
    step = step + 1
    call scr_need_checkpoint(flag, ierr)
    call good('SCR_NEED_CHECKPOINT')
    write (name, '("step", i4.4)') step
    call scr_start_output(name, ior(SCR_FLAG_CHECKPOINT, SCR_FLAG_OUTPUT), ierr)
    call good('SCR_START_OUTPUT')
    call scr_route_file(own(), file, ierr)
    call good('SCR_ROUTE_FILE')
    call put()
    call scr_complete_output(1, ierr)
    call good('SCR_COMPLETE_OUTPUT')
  end do
  call scr_start_checkpoint(ierr)
  call good('SCR_START_CHECKPOINT')
  call scr_route_file('/elsewhere', file, ierr)
  call yes(ierr /= SCR_SUCCESS .and. file == ' ', 'a file outside of the prefix directory')
  call scr_complete_checkpoint(merge(1, 0, rank /= 0), ierr)
  call yes(ierr /= SCR_SUCCESS, 'a checkpoint that one rank calls invalid')
  call scr_delete('none', ierr)
  call yes(ierr /= SCR_SUCCESS, 'SCR_DELETE of none')
  call scr_current(name, ierr)
  call good('SCR_CURRENT')
  write (name, '("step", i4.4)') 1
  if (expect == 0) then
    call scr_drop(name, ierr)
    call good('SCR_DROP')
  end if
  call scr_should_exit(flag, ierr)
  call good('SCR_SHOULD_EXIT')
  call yes(flag == 0, 'no end')
  call scr_finalize(ierr)
  call good('SCR_FINALIZE')
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  if (failed /= 0) stop 1

contains

  ! Returns the name of this rank's file, padded with blanks.
  function own()
    character(SCR_MAX_FILENAME) :: own
    write (own, '(a, "/", a, "/rank", i0)') trim(dir), trim(name), rank
  end function

  subroutine put()
    integer :: u, i
    open (newunit=u, file=file, access='stream', form='unformatted', status='replace')
    write (u) (rank * 1000003 + step * 7919 + i, i=1, n)
    close (u)
  end subroutine

  subroutine get()
    integer :: u, i, v(n)
    open (newunit=u, file=file, access='stream', form='unformatted', status='old')
    read (u) v
    close (u)
    call yes(all(v == [(rank * 1000003 + step * 7919 + i, i=1, n)]), 'the content of '//trim(file))
  end subroutine

  subroutine good(what)
    character(*), intent(in) :: what
    call yes(ierr == SCR_SUCCESS, what)
  end subroutine

  subroutine yes(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print *, 'rank', rank, 'step', step, what
    failed = 1
  end subroutine
end program
