! FTI for Fortran, over blobio: USE FTI. Link with -lblobio_ftif -lblobio_fti -lblobio_mpi. The procedures correspond to
! the functions of fti.h.
module fti
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: FTI_SCES = 0, FTI_NSCS = -1
  integer, parameter, public :: FTI_ATTRIBUTE_NAME = 1, FTI_ATTRIBUTE_DIM = 2

  ! C types of the same sizes, because FTI stores only the size of a type.
  integer, parameter, public :: FTI_CHARACTER1 = 0
  integer, parameter, public :: FTI_INTEGER1 = 0, FTI_INTEGER2 = 1, FTI_INTEGER4 = 2, FTI_INTEGER8 = 3
  integer, parameter, public :: FTI_LOGICAL1 = 0, FTI_LOGICAL2 = 1, FTI_LOGICAL4 = 2, FTI_LOGICAL8 = 3
  integer, parameter, public :: FTI_REAL4 = 8, FTI_REAL8 = 9
  integer, parameter, public :: FTI_COMPLEX4 = 9, FTI_COMPLEX8 = 10

  public :: FTI_Init, FTI_Finalize, FTI_Status, FTI_InitType, FTI_Protect, FTI_GetStoredSize, FTI_Realloc
  public :: FTI_Checkpoint, FTI_Snapshot, FTI_Recover, FTI_RecoverVarInit, FTI_RecoverVar, FTI_RecoverVarFinalize
  public :: FTI_InitICP, FTI_AddVarICP, FTI_FinalizeICP, FTI_setIDFromString, FTI_getIDFromString
  public :: FTI_SetAttribute, FTI_InitCompositeType, FTI_AddScalarField, FTI_AddVectorField

  ! Protects a variable of any type and rank, or memory given by an address, a count and a type.
  interface FTI_Protect
    module procedure protect_any, protect_ptr
  end interface FTI_Protect

  interface FTI_SetAttribute
    module procedure attribute_name, attribute_dims, attribute_long_dims
  end interface FTI_SetAttribute

  interface
    integer(c_int) function c_init(config, comm) bind(c, name='blobio_fti_init')
      import
      character(kind=c_char), intent(in) :: config(*)
      integer(c_int), intent(inout) :: comm
    end function c_init
    integer(c_int) function c_protect_any(id, data) bind(c, name='blobio_fti_protect')
      import
      integer(c_int), value :: id
      type(*), dimension(..), intent(in) :: data
    end function c_protect_any
    integer(c_int) function c_refuse(call) bind(c, name='blobio_fti_refuse')
      import
      character(kind=c_char), intent(in) :: call(*)
    end function c_refuse
    integer(c_int) function c_protect(id, ptr, count, tid) bind(c, name='FTI_Protect')
      import
      integer(c_int), value :: id, tid
      type(c_ptr), value :: ptr
      integer(c_int64_t), value :: count
    end function c_protect
    integer(c_int) function c_status() bind(c, name='FTI_Status')
      import
    end function c_status
    integer(c_int) function c_finalize() bind(c, name='FTI_Finalize')
      import
    end function c_finalize
    integer(c_int) function c_init_type(tid, size) bind(c, name='FTI_InitType')
      import
      integer(c_int), intent(out) :: tid
      integer(c_int), value :: size
    end function c_init_type
    integer(c_int64_t) function c_stored_size(id) bind(c, name='FTI_GetStoredSize')
      import
      integer(c_int), value :: id
    end function c_stored_size
    type(c_ptr) function c_realloc(id, ptr) bind(c, name='FTI_Realloc')
      import
      integer(c_int), value :: id
      type(c_ptr), value :: ptr
    end function c_realloc
    integer(c_int) function c_checkpoint(id, level) bind(c, name='FTI_Checkpoint')
      import
      integer(c_int), value :: id, level
    end function c_checkpoint
    integer(c_int) function c_snapshot() bind(c, name='FTI_Snapshot')
      import
    end function c_snapshot
    integer(c_int) function c_recover() bind(c, name='FTI_Recover')
      import
    end function c_recover
    integer(c_int) function c_var_init() bind(c, name='FTI_RecoverVarInit')
      import
    end function c_var_init
    integer(c_int) function c_var(id) bind(c, name='FTI_RecoverVar')
      import
      integer(c_int), value :: id
    end function c_var
    integer(c_int) function c_var_finalize() bind(c, name='FTI_RecoverVarFinalize')
      import
    end function c_var_finalize
    integer(c_int) function c_init_icp(id, level, activate) bind(c, name='FTI_InitICP')
      import
      integer(c_int), value :: id, level
      logical(c_bool), value :: activate
    end function c_init_icp
    integer(c_int) function c_add_icp(id) bind(c, name='FTI_AddVarICP')
      import
      integer(c_int), value :: id
    end function c_add_icp
    integer(c_int) function c_finalize_icp() bind(c, name='FTI_FinalizeICP')
      import
    end function c_finalize_icp
    integer(c_int) function c_set_id(name) bind(c, name='FTI_setIDFromString')
      import
      character(kind=c_char), intent(in) :: name(*)
    end function c_set_id
    integer(c_int) function c_get_id(name) bind(c, name='FTI_getIDFromString')
      import
      character(kind=c_char), intent(in) :: name(*)
    end function c_get_id
  end interface

contains

  ! global_comm becomes FTI_COMM_WORLD.
  subroutine FTI_Init(config_file, global_comm, err)
    character(len=*), intent(in) :: config_file
    integer, intent(inout) :: global_comm
    integer, intent(out) :: err
    err = c_init(trim(config_file)//c_null_char, global_comm)
  end subroutine FTI_Init

  subroutine FTI_Finalize(err)
    integer, intent(out) :: err
    err = c_finalize()
  end subroutine FTI_Finalize

  subroutine FTI_Status(status)
    integer, intent(out) :: status
    status = c_status()
  end subroutine FTI_Status

  function FTI_InitType(size_f) result(tid)
    integer(c_size_t), intent(in) :: size_f
    integer :: tid
    if (c_init_type(tid, int(min(size_f, int(huge(1_c_int), c_size_t)), c_int)) /= FTI_SCES) tid = FTI_NSCS
  end function FTI_InitType

  subroutine protect_any(id_f, data, err)
    integer, intent(in) :: id_f
    type(*), dimension(..), target, intent(in) :: data
    integer, intent(out) :: err
    err = c_protect_any(id_f, data)
  end subroutine protect_any

  subroutine protect_ptr(id_f, ptr, count_f, tid, err)
    integer, intent(in) :: id_f
    type(c_ptr), value :: ptr
    integer, intent(in) :: count_f, tid
    integer, intent(out) :: err
    err = c_protect(id_f, ptr, int(count_f, c_int64_t), tid)
  end subroutine protect_ptr

  subroutine FTI_GetStoredSize(id_f, size)
    integer, intent(in) :: id_f
    integer(8), intent(out) :: size
    size = c_stored_size(id_f)
  end subroutine FTI_GetStoredSize

  subroutine FTI_Realloc(id_f, ptr, err)
    integer, intent(in) :: id_f
    type(c_ptr), intent(inout) :: ptr
    integer, intent(out) :: err
    ptr = c_realloc(id_f, ptr)
    err = merge(FTI_SCES, FTI_NSCS, c_associated(ptr))
  end subroutine FTI_Realloc

  subroutine FTI_Checkpoint(id_f, level, err)
    integer, intent(in) :: id_f, level
    integer, intent(out) :: err
    err = c_checkpoint(id_f, level)
  end subroutine FTI_Checkpoint

  subroutine FTI_Snapshot(err)
    integer, intent(out) :: err
    err = c_snapshot()
  end subroutine FTI_Snapshot

  subroutine FTI_Recover(err)
    integer, intent(out) :: err
    err = c_recover()
  end subroutine FTI_Recover

  subroutine FTI_RecoverVarInit(err)
    integer, intent(out) :: err
    err = c_var_init()
  end subroutine FTI_RecoverVarInit

  subroutine FTI_RecoverVar(id, err)
    integer, intent(in) :: id
    integer, intent(out) :: err
    err = c_var(id)
  end subroutine FTI_RecoverVar

  subroutine FTI_RecoverVarFinalize(err)
    integer, intent(out) :: err
    err = c_var_finalize()
  end subroutine FTI_RecoverVarFinalize

  subroutine FTI_InitICP(id_f, level, activate, err)
    integer, intent(in) :: id_f, level
    logical, intent(in) :: activate
    integer, intent(out) :: err
    err = c_init_icp(id_f, level, logical(activate, c_bool))
  end subroutine FTI_InitICP

  subroutine FTI_AddVarICP(id_f, err)
    integer, intent(in) :: id_f
    integer, intent(out) :: err
    err = c_add_icp(id_f)
  end subroutine FTI_AddVarICP

  subroutine FTI_FinalizeICP(err)
    integer, intent(out) :: err
    err = c_finalize_icp()
  end subroutine FTI_FinalizeICP

  subroutine FTI_setIDFromString(name, id)
    character(len=*), intent(in) :: name
    integer, intent(out) :: id
    id = c_set_id(trim(name)//c_null_char)
  end subroutine FTI_setIDFromString

  subroutine FTI_getIDFromString(name, id)
    character(len=*), intent(in) :: name
    integer, intent(out) :: id
    id = c_get_id(trim(name)//c_null_char)
  end subroutine FTI_getIDFromString

  ! Refused calls.

  subroutine attribute_name(id, attribute, flag, err)
    integer, intent(in) :: id, flag
    character(len=*), intent(in) :: attribute
    integer, intent(out) :: err
    err = c_refuse('FTI_SetAttribute'//c_null_char)
  end subroutine attribute_name

  subroutine attribute_dims(id, attribute, flag, err)
    integer, intent(in) :: id, flag, attribute(:)
    integer, intent(out) :: err
    err = c_refuse('FTI_SetAttribute'//c_null_char)
  end subroutine attribute_dims

  subroutine attribute_long_dims(id, attribute, flag, err)
    integer, intent(in) :: id, flag
    integer(8), intent(in) :: attribute(:)
    integer, intent(out) :: err
    err = c_refuse('FTI_SetAttribute'//c_null_char)
  end subroutine attribute_long_dims

  function FTI_InitCompositeType(name, size) result(tid)
    character(len=*), intent(in) :: name
    integer(c_size_t), intent(in) :: size
    integer :: tid
    tid = c_refuse('FTI_InitCompositeType'//c_null_char)
  end function FTI_InitCompositeType

  function FTI_AddScalarField(complex_tid, name, field_tid, offset) result(err)
    integer, value :: complex_tid, field_tid
    character(len=*), intent(in) :: name
    integer(c_size_t), value :: offset
    integer :: err
    err = c_refuse('FTI_AddScalarField'//c_null_char)
  end function FTI_AddScalarField

  function FTI_AddVectorField(complex_tid, name, field_tid, offset, ndims, dim_length) result(err)
    integer, value :: complex_tid, field_tid, ndims
    character(len=*), intent(in) :: name
    integer(c_size_t), value :: offset
    integer, intent(in) :: dim_length(*)
    integer :: err
    err = c_refuse('FTI_AddVectorField'//c_null_char)
  end function FTI_AddVectorField

end module fti
