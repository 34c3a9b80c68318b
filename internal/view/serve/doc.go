// Package serve serves the datasets below a directory over HTTP, read only, without converting them.
//
//	/                   a list of datasets: as HTML or JSON
//	/files/DIR/         the list of a subdirectory
//	/files/PATH         a dataset as one netCDF file, with byte ranges, ETag and Last-Modified
//	/dap/PATH.SUFFIX    DAP2: dds, das, dods, ascii, info, ver
//	/view/PATH          the page of a dataset; as JSON, the possible pictures of a variable
//	/plot/PATH?var=T    a picture of a variable, as PNG or SVG (plotquery.go has the parameters)
//	/value/PATH?var=T   the value at a point of that picture, as JSON
//	/zarr/PATH/KEY      Zarr version 2 (consolidated); /zarr3/PATH/KEY version 3
//
// The first word of the path selects a part (server.go): a function that answers the requests for all paths below this word. The
// datasets and their bytes come from internal/view/tree and package blob, DAP2 from internal/view/dap, Zarr from
// internal/view/zarr.
//
// A response takes its memory from a budget before it begins; a request that waits too long for memory gets 503 with Retry-After.
// Each read takes a slot, but no slot is held while a client receives. A client that receives nothing for a while is cut off. An
// error before the first byte sets the status. A later error breaks the connection, so that no client treats a partial response
// as complete.
//
// Nothing outside the directory is visible. Without a token, the server accepts only host names of this machine. So a web page of
// another host cannot read the datasets through a browser on this machine. Options.Public lifts this restriction.
//
// Read first: server.go, files.go, answer.go.
package serve
