"""Pages that play what was said aloud: the recording is the browser's own, made and kept there."""
from csp.decorators import csp_update

with_voices = csp_update({"media-src": ["blob:"]})
