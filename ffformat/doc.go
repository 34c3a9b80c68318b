// Package ffformat reads, checks and writes FTI-FF files, the checkpoint
// containers of FTI (the Fault Tolerance Interface): one file per rank, which
// holds the variables of the application in containers that can grow, and all that is
// needed to read them back. docs/format-fti-ff.md has the same with an example.
//
// # Words
//
//	variable   bytes that the application protects, named by an int32
//	container  a place of fixed size in the file for one piece of one variable
//	chunk      that piece: the first ChunkSize bytes of the container
//	block      the containers that one checkpoint added, and their records
//	FB         file block: checksum, hash, sizes      (struct FTIFF_metaInfo)
//	BMD        block header: number of records, size  (struct FTIFF_db)
//	VMD        record of one container                (struct FTIFF_dbvar)
//
// # Layouts
//
// There are seven, without magic or version. All integers are little-endian.
//
//	A, B     FB | BMD VMD.. containers | BMD VMD.. containers | ..
//	C0 to F  containers of all blocks | BMD VMD.. | BMD VMD.. | .. FB
//
//	layout  FTI            FB   BMD  VMD  sizes
//	A       v1.1           96   12   64   64 bits
//	B       v1.2           90   12   62   64 bits
//	C0      not released   106  12   62   64 bits
//	C       v1.3           110  12   62   64 bits
//	D       v1.4           110  12   58   64 bits
//	E       v1.5, v1.6     82   8    50   32 bits
//	F       after v1.6     106  12   58   64 bits
//
//	FB, offset:bytes  A      B      C0      C, D   E     F
//	checksum          0:33 in all: 32 lower-case hex digits and a NUL
//	myHash            33:16 in all: raw MD5
//	ckptId            -      -      -       49:4   49:4  49:4
//	ckptSize          56:8   49:8   49:8    53:8   53:4  53:8
//	metaSize          -      -      57:8    61:8   57:4  61:8
//	dataSize          -      -      65:8    69:8   61:4  69:8
//	fs                64:8   57:8   73:8    77:8   65:4  77:8
//	maxFs             72:8   65:8   81:8    85:8   69:4  85:8
//	ptFs              80:8   73:8   89:8    93:8   73:4  93:8
//	timestamp         88:8   81:8   97:8    101:8  77:4  101:4
//	pad               49:7   89:1   105:1   109:1  81:1  105:1
//
//	BMD               all but E  E
//	numvars           0:4        0:4
//	dbsize            4:8        4:4   of the containers; in A and B with BMD and VMDs
//
//	VMD               A          B, C0, C  D, F   E
//	id                0:4        0:4       0:4    0:4
//	idx               4:4        4:4       -      -
//	containerid       8:4        8:4       4:4    4:4
//	hascontent        12:1       12:1      8:1    8:1
//	hasCkpt           -          13:1      9:1    9:1
//	pad               13:3       -         -      -
//	dptr              16:8       14:8      10:8   10:8
//	fptr              24:8       22:8      18:8   18:8
//	chunksize         32:8       30:8      26:8   26:4
//	containersize     40:8       38:8      34:8   30:4
//	hash              48:16      46:16     42:16  34:16
//
// C and D have the same FB: their records tell them apart. A file of level 3
// parity (RSed) is parity and an FB at the end, in every layout; its fs and maxFs are the
// bytes of parity.
//
// # Hashes
//
//	hash      MD5 of the chunk
//	myHash    MD5 of checksum (33 bytes), timestamp, ckptSize, metaSize, dataSize, fs,
//	          ptFs, maxFs, as they are stored: this order, and no ckptId
//	checksum  A: MD5 of all bytes behind FB
//	          B: MD5 of all chunks
//	          C0 to F, writer's rule: MD5 of the hash fields of all containers
//	          C0 to F, reader's rule: MD5 of the hashes of containers with content
//	          parity: MD5 of the parity
//
// The two rules differ when a container is empty, because its hash field is stale. FTI
// writes by one and reads by the other, so that it refuses such files of its own.
// Nothing covers id, dptr, containerid, containersize, numvars, dbsize and
// ckptId: Check and Reader test them by what the growth rule can give.
//
// # Fast files
//
// Files of layout F with Hash Fast are blobio's own; FTI refuses them. The checksum field
// is "blobio-xxh3-128 b=%010d v01" with the block size b in bytes. A chunk is cut
// into blocks of b bytes, the last one shorter; its hash is XXH3-128 of
// the XXH3-128 digests of its blocks, one after the other. myHash is XXH3-128 of all bytes from
// dataSize to the end of the file, with myHash and the pad as 0. Digests are
// stored big-endian.
//
// # Not supported
//
// Big-endian files (recognised, ErrUnsupported); rebuilding files from parity; FTI's
// files of other modes (POSIX, MPI-IO, HDF5, SIONlib).
package ffformat
