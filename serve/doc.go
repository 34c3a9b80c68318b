// Package serve shows the datasets below a directory over HTTP, read only, without converting them.
//
//	/                   a list of what is there: HTML, or JSON if that is accepted
//	/files/DIR/         the same of a directory below
//	/files/PATH         a dataset as one netCDF file, with byte ranges, ETag and Last-Modified
//	/dap/PATH.SUFFIX    DAP2: dds, das, dods, ascii, info, ver
//	/view/PATH          the page of a dataset; as JSON what can be seen of a variable
//	/plot/PATH?var=T    a picture of a variable, as PNG or SVG (plotquery.go has the parameters)
//	/value/PATH?var=T   what that picture shows at a point, as JSON
//	/zarr/PATH/KEY      Zarr version 2 (consolidated); /zarr3/PATH/KEY version 3
//
// Each is a part (parts.go): a function that answers for one path below its word. What a dataset is and what its bytes are decide
// internal/tree and package blob; DAP2 is internal/dap, Zarr internal/zarr.
//
// An answer takes its memory from a budget before it begins; who waits for it too long gets 503 with Retry-After. Each read takes a slot. While
// a client takes its time no slot is held, and one that takes nothing for a while is cut off. What fails before the first byte is an
// error with its status; later the connection breaks, so that nobody takes a part for the whole.
//
// Nothing outside of the directory is seen. Without a token the server answers only to names of this machine (Options.Public), so that
// no page of another host can read through a browser.
package serve
