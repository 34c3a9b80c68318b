package serve_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"blobio/cdf5"
	"blobio/internal/view/serve"
)

// Serve the datasets below a directory over HTTP, and read one variable as text by DAP2.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "lev", Len: 4}}, Vars: []cdf5.Var{{Name: "lev", Type: cdf5.Short, Dims: []int{0}}}}
	if err := h.Layout(nil); err != nil {
		log.Fatal(err)
	}
	file, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		log.Fatal(err)
	}
	file = append(file, 3, 232, 1, 244, 0, 100, 0, 10)
	if err := os.WriteFile(filepath.Join(dir, "levels.nc"), file, 0o666); err != nil {
		log.Fatal(err)
	}

	s, err := serve.New(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	server := httptest.NewServer(s) // or s.Serve(ctx, listener)
	defer server.Close()
	resp, err := server.Client().Get(server.URL + "/dap/levels.nc.ascii?lev[1:3]")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// Dataset {
	//     Int16 lev[lev = 3];
	// } levels.nc;
	// ---------------------------------------------
	// lev[3]
	// 500, 100, 10
}
