"""HTTP servers on this machine for tests of downloads and stores."""

import contextlib
import http.server
import threading


class Silent(http.server.BaseHTTPRequestHandler):
    """A handler that prints nothing of its requests."""

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serving(handler):
    """Serve with this handler class while the block runs. Yield HOST:PORT."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    loop = {"poll_interval": 0.01}
    threading.Thread(target=server.serve_forever, kwargs=loop, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
