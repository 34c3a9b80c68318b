module blobio/extra/peers

go 1.26.0

require (
	blobio v0.0.0
	github.com/hanwen/go-fuse/v2 v2.12.1
	golang.org/x/sys v0.49.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/klauspost/cpuid/v2 v2.3.0 // indirect
	github.com/klauspost/reedsolomon v1.14.2 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/text v0.23.0 // indirect
)

replace blobio => ../..
