package mapfile_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"blobio/decomp/mapfile"
)

// Two ranks use a map that PIO dumped for four processes. The program also stores it as a CDF file for E3SM-IO.
func Example() {
	const text = `version 2001 npes 4 ndims 1
12
0 3
1 2 3
1 3
4 5 6
2 3
7 8 9
3 3
10 0 12
`
	f, err := mapfile.Read(strings.NewReader(text), int64(len(text)), "piodecomp4tasks.dat")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d processes, %d map\n", f.Format, f.Procs, len(f.Maps))

	m, err := f.Maps[0].Map(2, mapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for rank := range m.Ranks() {
		fmt.Printf("rank %d: %v\n", rank, m.AppendReqs(nil, rank))
	}

	var cdf bytes.Buffer
	if err := mapfile.WriteCDF(&cdf, f, nil); err != nil {
		log.Fatal(err)
	}
	again, err := mapfile.Read(bytes.NewReader(cdf.Bytes()), int64(cdf.Len()), "map.nc")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Format, again.Maps[0].Reqs.Equal(f.Maps[0].Reqs))
	// Output:
	// PIO text: 4 processes, 1 map
	// rank 0: [{0 6}]
	// rank 1: [{6 4} {11 1}]
	// CDF-5 true
}
