/* The interface between pio.c (libblobio_pio) and the Go files (libblobio_mpi). Not installed. */
#ifndef BLOBIO_PIO_EDGE_H
#define BLOBIO_PIO_EDGE_H

#include <stdint.h>

/* An error, and the error handling method that applies to it. */
typedef struct blobio_pio_failure {
	int32_t handler;
	char text[3072];
} blobio_pio_failure;

/* The part of a variable that a call covers. */
enum { PIO_WHOLE, PIO_ONE, PIO_PART };

/* Bits of file modes and flags. PIO_OF_NCAR means: follow NCAR's library where it differs from SCORPIO. */
enum { PIO_READONLY = 1, PIO_MULTI = 2, PIO_OF_NCAR = 1 << 30 };

/* Internal symbols, with a version of their own. A word is an address or, for a communicator, MPI's handle. */
#define GO(name, ...) extern __attribute__((visibility("default"))) int32_t blobioGoPio##name(__VA_ARGS__, blobio_pio_failure *e)
typedef __SIZE_TYPE__ word;
typedef long long whole; /* the type that Go declares */

GO(Init, word comm, int32_t iotasks, int32_t stride, int32_t base, int32_t rearr, word out);
GO(Finalize, int32_t sys);
GO(System, int32_t sys, word iotasks, word member, word rank);
GO(SystemOf, int32_t nc, word out);
GO(SystemHandler, int32_t sys, int32_t method, word old);
GO(FileHandler, int32_t nc, int32_t method, word old);
GO(Hint, int32_t sys, word name, word value);
GO(BufferLimit, whole limit, whole usual, word old);
GO(Refuse, int32_t sys, int32_t code, word text);

GO(InitDecomp, int32_t sys, int32_t type, int32_t ndims, word gdims, whole n, word map, int32_t flags, word out);
GO(InitDecompBlock, int32_t sys, int32_t type, int32_t ndims, word gdims, word start, word count, word out);
GO(FreeDecomp, int32_t sys, int32_t id);
GO(LocalSize, int32_t id, word out);

GO(WriteMap, word comm, word path, int32_t ndims, word gdims, whole n, word map);
GO(ReadMap, word comm, word path, word ndims, word gdims, word n, word map);
GO(WriteText, int32_t sys, word path, int32_t id, word comm);
GO(WriteDecomp, int32_t sys, word path, int32_t mode, int32_t id, word title, word history, int32_t fortran);
GO(ReadDecomp, int32_t sys, word path, int32_t type, word out, word title, word history, whole size, word fortran);

GO(Create, int32_t sys, word path, int32_t iotype, int32_t mode, word out);
GO(Open, int32_t sys, word path, int32_t iotype, int32_t mode, word out);
GO(Close, int32_t nc);
GO(Delete, int32_t sys, word path);
GO(IsOpen, int32_t nc, word out);
GO(Sync, int32_t nc);
GO(Redef, int32_t nc);
GO(Enddef, int32_t nc);
GO(SetFill, int32_t nc, int32_t mode, word old);
GO(Inq, int32_t nc, word ndims, word nvars, word natts, word unlimited, word format);

GO(DefDim, int32_t nc, word name, whole n, word out);
GO(RenameDim, int32_t nc, int32_t d, word name);
GO(InqDim, int32_t nc, int32_t d, word name, whole size, word n);
GO(InqDimID, int32_t nc, word name, word out);

GO(DefVar, int32_t nc, word name, int32_t type, int32_t ndims, word dims, word out);
GO(RenameVar, int32_t nc, int32_t v, word name);
GO(DefVarFill, int32_t nc, int32_t v, int32_t off, word value);
GO(InqVarFill, int32_t nc, int32_t v, word off, word value);
GO(InqVar, int32_t nc, int32_t v, word name, whole size, word type, word ndims, word dims, word natts);
GO(InqVarID, int32_t nc, word name, word out);

GO(DefDeflate, int32_t nc, int32_t v, int32_t shuffle, int32_t deflate, int32_t level);
GO(DefFilter, int32_t nc, int32_t v, uint32_t id, whole n, word params);
GO(InqFilter, int32_t nc, int32_t v, uint32_t id, word has, word n, word params);
GO(InqFilterIDs, int32_t nc, int32_t v, word n, word ids);
GO(FilterAvail, int32_t nc, uint32_t id);
GO(DefChunking, int32_t nc, int32_t v, int32_t storage, word sizes);
GO(InqChunking, int32_t nc, int32_t v, word storage, word sizes);
GO(DefEndian, int32_t nc, int32_t v, int32_t endian);
GO(InqEndian, int32_t nc, int32_t v, word endian);
GO(DefQuantize, int32_t nc, int32_t v, int32_t mode, int32_t keep);
GO(InqQuantize, int32_t nc, int32_t v, word mode, word keep);
GO(VarCache, int32_t nc, int32_t v, int32_t set, word size, word elems, word preemption);
GO(Cache, int32_t sys, int32_t iotype, int32_t set, word size, word elems, word preemption);

GO(PutAtt, int32_t nc, int32_t v, word name, int32_t type, int32_t mem, whole n, word p);
GO(GetAtt, int32_t nc, int32_t v, word name, int32_t mem, word p);
GO(InqAtt, int32_t nc, int32_t v, word name, word type, word n, word id);
GO(InqAttName, int32_t nc, int32_t v, int32_t i, word name, whole size);
GO(RenameAtt, int32_t nc, int32_t v, word name, word to);
GO(DelAtt, int32_t nc, int32_t v, word name);
GO(CopyAtt, int32_t nc, int32_t v, word name, int32_t to, int32_t tov);

GO(SetFrame, int32_t nc, int32_t v, int32_t frame, int32_t flags);
GO(AdvanceFrame, int32_t nc, int32_t v, int32_t flags);
GO(WriteDarray, int32_t nc, int32_t nvars, word vars, int32_t decomp, whole n, word p, word frames, word fills, int32_t flags, int32_t flush);
GO(ReadDarray, int32_t nc, int32_t v, int32_t decomp, whole n, word p);
GO(PutFrame, int32_t nc, int32_t v, int32_t decomp, whole frame, int32_t mem, word p);
GO(GetFrame, int32_t nc, int32_t v, int32_t decomp, whole frame, int32_t mem, word p);
GO(Agree, int32_t nc, int32_t code, word text, word n);
GO(IsBase, int32_t nc, word out);
GO(Put, int32_t nc, int32_t v, int32_t much, word start, word count, word stride, word imap, int32_t mem, word p);
GO(Get, int32_t nc, int32_t v, int32_t much, word start, word count, word stride, word imap, int32_t mem, word p);

#undef GO

/* Functions of pio.c for fortran.c. */
__attribute__((visibility("default"))) int blobio_pio_wrong(int iosysid, int code, const char *text);
int blobio_pio_agree(int nc, int code, word n);
int blobio_pio_is_base(int nc, int *base);
#endif
