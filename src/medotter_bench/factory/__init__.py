"""Making bundles: scan a data root, split it, freeze a manifest, generate dummy data, vendor copies.

Everything is imported from its own module (`factory.freeze`, `factory.dummy`, …), so that importing this
package stays light. Leaves to others: reading a finished bundle (`bundle`), checking one (`checks`).
"""

from __future__ import annotations
