// Package serve offers the datasets below a directory over HTTP, read only, without converting them.
//
//	/                   a list of datasets: HTML, or JSON if that is accepted
//	/files/DIR/         the list of a directory below
//	/files/PATH         a dataset as one netCDF file, with byte ranges, ETag and Last-Modified
//	/dap/PATH.SUFFIX    DAP2: dds, das, dods, ascii, info, ver
//	/view/PATH          the page of a dataset; as JSON, the pictures that a variable allows
//	/plot/PATH?var=T    a picture of a variable, as PNG or SVG (plotquery.go has the parameters)
//	/value/PATH?var=T   the value at a point of that picture, as JSON
//	/zarr/PATH/KEY      Zarr version 2 (consolidated); /zarr3/PATH/KEY version 3
//
// Each is a part (server.go): a function that answers for the paths below its first word. The datasets and their bytes come from
// internal/view/tree and package blob, DAP2 from internal/view/dap, Zarr from internal/view/zarr.
//
// A response takes its memory from a budget before it begins; a request that waits too long for it gets 503 with Retry-After. Each read
// takes a slot, but none is held while a client receives. A client that takes nothing for a while is cut off. An error before the first
// byte has a status; after it the connection breaks, so that nobody takes an incomplete response for the whole.
//
// Nothing outside the directory is visible. Without a token the server answers to names of this machine only (Options.Public lifts this),
// so that no page of another host can read through a browser.
//
// Read first: server.go, files.go, answer.go.
package serve
